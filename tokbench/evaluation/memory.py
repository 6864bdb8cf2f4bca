"""How much memory a process takes at its peak."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
_PEAK = "VmHWM:"


def peak_bytes() -> int | None:
    """The most memory that this process has ever had resident; None where the system does not tell.

    Not `getrusage`: on Linux its figure is inherited from whoever started the process. Of one piece of work it says
    nothing: what was freed before is taken again.
    """
    with suppress(OSError, ValueError, IndexError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith(_PEAK):
                return int(line.split()[1]) * 1024
    return None
