"""The processor time that a program takes, from its start to its end."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

TOKBENCH = "from tokbench.cli.app import main; main()"
"""The program of the command line."""


def seconds(program: str, *arguments: str, cwd: Path) -> float:
    """Processor time that a program takes; time on the clock would measure what else the machine does."""
    resource = pytest.importorskip("resource", reason="nothing tells it here")
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    settings.setdefault(
        "PYTHONPYCACHEPREFIX", str(cwd / "bytecode")
    )  # as after an installation, which compiles
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=cwd, env=settings, capture_output=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
