"""One thing that `tokbench doctor` checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that `doctor` checked; `passed` is None for mere information."""

    subject: str
    found: str
    passed: bool | None = None
    hint: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As a part of `--json`."""
        return {"subject": self.subject, "found": self.found, "passed": self.passed, "hint": self.hint}
