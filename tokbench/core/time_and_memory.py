"""Measure time and memory: candidates are timed in turns, so that machine noise affects all equally."""

from __future__ import annotations

import gc
import math
import statistics
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer

_LEAST_SECONDS = 1e-9


_STATUS = Path("/proc/self/status")
_PEAK = "VmHWM:"

_RUNS = 3
_ENOUGH_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Spread:
    """What several runs gave.

    Attributes:
        median: the middle one, or the mean of the middle two.
        low: the smallest.
        high: the largest.
        runs: how many there were.
    """

    median: float
    low: float
    high: float
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of at least one value.

        >>> Spread.of([3.0, 1.0, 2.0])
        Spread(median=2.0, low=1.0, high=3.0, runs=3)
        """
        return cls(statistics.median(values), min(values), max(values), len(values))

    def to_json(self) -> dict[str, float]:
        """This as plain data for JSON."""
        return {"median": self.median, "low": self.low, "high": self.high, "runs": self.runs}


def ratios(values: Sequence[float], base: Sequence[float]) -> Spread:
    """Each value over that of the base in the same round: what slows the machine down is in both.

    >>> ratios([2.0, 4.0], [1.0, 4.0])
    Spread(median=1.5, low=1.0, high=2.0, runs=2)
    """
    return Spread.of([one / max(other, _LEAST_SECONDS) for one, other in zip(values, base, strict=False)])


def percentile(values: Sequence[float], share: float) -> float:
    """The value that a share of the values do not exceed, by the nearest rank.

    >>> percentile([4.0, 1.0, 3.0, 2.0], 0.5), percentile([1.0, 2.0, 3.0], 0.99)
    (2.0, 3.0)
    """
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1]


def in_turns(
    measures: Mapping[str, Callable[[], Any]],
    *,
    runs: int,
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[Any]]:
    """What each measure gives, in rounds in which every one comes once.

    One that has taken its seconds is left out of the rounds that follow, so that a slow one does not keep
    the others waiting; each has at least one run.

    Args:
        measures: name → a measurement.
        runs: how many rounds.
        seconds: what a name may take in all rounds.
        clock: tells the time.
    """
    found: dict[str, list[Any]] = {name: [] for name in measures}
    spent = dict.fromkeys(measures, 0.0)
    for _ in range(runs):
        for name, measure in measures.items():
            if found[name] and spent[name] >= seconds:
                continue
            started = clock()
            found[name].append(measure())
            spent[name] += clock() - started
    return found


def seconds_of(work: Callable[[], Any], *, clock: Callable[[], float] = time.perf_counter) -> float:
    """Wall seconds of one call, without the garbage collector; what it returns lives until the clock is read."""
    with _without_collector():
        started = clock()
        result = work()
        taken = clock() - started
    del result
    return max(taken, _LEAST_SECONDS)


def microseconds_of_each(
    work: Callable[[str], Any],
    texts: Sequence[str],
    *,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> list[float]:
    """Wall microseconds of the call for each text."""
    taken = []
    with _without_collector():
        for text in texts:
            started = clock()
            result = work(text)
            taken.append(clock() - started)
            del result
    return [max(nanoseconds, 1) / 1e3 for nanoseconds in taken]


@contextmanager
def _without_collector() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


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


@dataclass(frozen=True, slots=True)
class Throughput:
    """Millions of UTF-8 bytes per second, of `encode_batch` on one thread unless it says otherwise.

    Attributes:
        cold: of the first run, which fills caches.
        median: over the runs after it.
        low: of the slowest run.
        high: of the fastest.
        num_bytes: the sample.
        runs: how many.
        all_threads: the same median on every processor.
    """

    cold: float
    median: float
    low: float
    high: float
    num_bytes: int
    runs: int
    all_threads: float


def throughput_of(tokenizer: Tokenizer, texts: Sequence[str]) -> Throughput | None:
    """Time a tokenizer on some texts; None where there is no text.

    Slow tokenizers have fewer runs.
    """
    num_bytes = sum(len(text.encode()) for text in texts)
    if not num_bytes:
        return None

    def seconds(threads: int | None) -> float:
        return seconds_of(lambda: tokenizer.encode_batch(texts, threads=threads))

    megabytes = num_bytes / 1e6
    cold = megabytes / seconds(1)
    found = in_turns(
        {"one thread": lambda: seconds(1), "all threads": lambda: seconds(None)},
        runs=_RUNS,
        seconds=_ENOUGH_SECONDS,
    )
    one, all_threads = (Spread.of([megabytes / taken for taken in rounds]) for rounds in found.values())
    return Throughput(
        cold=cold,
        median=one.median,
        low=one.low,
        high=one.high,
        num_bytes=num_bytes,
        runs=one.runs,
        all_threads=all_threads.median,
    )
