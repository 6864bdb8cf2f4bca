"""The peak memory of processes."""

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


def training_peak_bytes() -> int | None:
    """The most memory that this process, or any that it started and that has ended, has ever had resident.

    A library may train in a process of its own. Its figure is from `getrusage`: what it inherits is the peak of this
    process, which is counted anyway.
    """
    own = peak_bytes()
    if own is None:
        return None
    import resource  # where /proc is, this is, too

    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
