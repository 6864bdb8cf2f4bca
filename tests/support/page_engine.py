"""V8 for tests of the page's JavaScript; where mini-racer is not installed they are skipped."""

from __future__ import annotations

import json
from typing import Any

import pytest


class Engine:
    """One context of V8 that has run some source."""

    def __init__(self, source: str) -> None:
        racer = pytest.importorskip("py_mini_racer", reason="pip install mini-racer")
        self._context = racer.MiniRacer()
        self._context.eval(f"{source}\n0")

    def call(self, function: str, *arguments: Any) -> Any:
        """What a function gives, which is plain data like its arguments."""
        given = ", ".join(map(json.dumps, arguments))
        return json.loads(self._context.eval(f"JSON.stringify({function}({given}))"))
