"""The processor time of a program, from its start to its end."""

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
    """Return the processor time of a program; wall time would depend on the other load of the machine."""
    resource = pytest.importorskip("resource", reason="nothing tells it here")
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    settings.setdefault(
        "PYTHONPYCACHEPREFIX", str(cwd / "bytecode")
    )  # bytecode is cached, as after an installation
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=cwd, env=settings, capture_output=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def least_seconds(
    *measure: Callable[[], float], enough: Callable[..., bool], fewest: int = 4, most: int = 30
) -> tuple[float, ...]:
    """Return the least time of each measurement, taking them in turns.

    Other load on the machine only adds to a time, by half of it on some machines: the minimum is closest to the time of
    the program itself. Turns continue until `enough` is true of the least times. The first turn does not count, because
    it compiles the imported modules.
    """
    for run in measure:
        run()
    least = tuple(run() for run in measure)
    for turn in range(1, most):
        if turn >= fewest and enough(*least):
            break
        least = tuple(min(before, run()) for before, run in zip(least, measure, strict=True))
    return least
