"""Render chat templates in the test process: starting a worker process takes longer than a rule."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from tokbench.chat.jinja import template, worker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class InProcess:
    """A stand-in for `WorkerProcess` without a process and its limits."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.owner = os.getpid()
        self._job = json.loads(json.dumps(job))
        self._programs: dict[str, Any] = {}

    def render(self, request: Mapping[str, Any], conversations: Sequence[bytes]) -> Iterator[dict[str, Any]]:
        replies = worker._replies(self._job, self._programs, request, conversations)
        return map(json.loads, replies)

    def close(self) -> None:
        """Do nothing: there is no process to end."""


@pytest.fixture(autouse=True)
def templates_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template, "WorkerProcess", InProcess)
    monkeypatch.setattr(worker, "_bounded_time", lambda seconds: nullcontext())
