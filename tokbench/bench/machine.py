"""The machine that a benchmark ran on."""

from __future__ import annotations

import datetime
import platform
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tokbench.distributed.engines.open import usable_processors


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine on which a benchmark ran."""

    cpu: str
    processors: int
    system: str
    python: str
    tokbench: str
    date: str


def this_machine() -> Machine:
    """Return a description of this machine."""
    from tokbench import __version__

    return Machine(
        cpu=_cpu(),
        processors=usable_processors(),
        system=f"{platform.system()} {platform.machine()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        tokbench=__version__,
        date=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
    )


def _cpu() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine() or "unknown"
