"""How much memory a piece of work takes at its peak."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"


class PeakMemory:
    """The most resident memory between two points, above what there was at the first.

    Known where the system lets a process reset its own high-water mark, which is on Linux; elsewhere None.
    """

    def __init__(self) -> None:
        self._before: int | None = None
        with suppress(OSError):
            _CLEAR.write_text(_RESET_PEAK)
            self._before = _field("VmRSS")

    def num_bytes(self) -> int | None:
        """Bytes above the first point at the highest one since then; None where the system does not tell."""
        peak = _field("VmHWM")
        return None if peak is None or self._before is None else max(peak - self._before, 0)


def peak_bytes() -> int | None:
    """The most memory that this process has ever had resident; None where the system does not tell.

    Not `getrusage`: on Linux its figure is inherited from whoever started the process.
    """
    return _field("VmHWM")


def _field(name: str) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None
