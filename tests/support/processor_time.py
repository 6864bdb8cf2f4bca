"""The processor time that a program takes, from its start to its end."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
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


def least_seconds(
    *measure: Callable[[], float], enough: Callable[..., bool], fewest: int = 4, most: int = 30
) -> tuple[float, ...]:
    """The least time that each measurement gave, all of them made in turns.

    What else a machine does only ever adds to a time, on some machines a half of it: the least of several is
    the nearest to what the program takes. Turns are taken until `enough`, which gets the least times, holds.
    The first turn does not count: in it what is imported is compiled.
    """
    for run in measure:
        run()
    least = tuple(run() for run in measure)
    for turn in range(1, most):
        if turn >= fewest and enough(*least):
            break
        least = tuple(min(before, run()) for before, run in zip(least, measure, strict=True))
    return least
