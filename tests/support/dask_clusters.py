"""A Dask scheduler with workers, in processes that a test may kill."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tokbench.core.module_process import module_environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE = 60.0


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-P", "-m", *arguments],
        env=module_environment() | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s"},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(is_so: Any) -> None:
    until = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.05)


@contextmanager
def scheduler(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start a scheduler and two workers as separate processes; yield the scheduler's address and process."""
    pytest.importorskip("distributed", reason="the package distributed is not installed")
    file = folder / "scheduler.json"
    with ExitStack() as stack:
        process = stack.enter_context(
            started(
                *("distributed.cli.dask_scheduler", "--scheduler-file", str(file), "--port", "0"),
                *("--host", "127.0.0.1", "--no-dashboard"),
            )
        )
        wait_until(lambda: file.exists() and file.stat().st_size)  # it is written after it is made
        address = json.loads(file.read_text())["address"]
        for _ in range(2):
            stack.enter_context(
                started(
                    "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"
                )
            )
        yield address, process
