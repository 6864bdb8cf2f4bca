"""Measurement of time and memory, and their limits in processes for work that may exceed them.

Candidates are timed in turns, so that machine noise affects all equally.
"""

from __future__ import annotations

import math
import statistics
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.files.garbage_collection import paused_garbage_collection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer


_LEAST_SECONDS = 1e-9


_STATUS = Path("/proc/self/status")
_PEAK = "VmHWM:"

_RUNS = 3
_ENOUGH_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Spread:
    """The results of several runs.

    Attributes:
        median: the middle value, or the mean of the middle two.
        low: the smallest value.
        high: the largest value.
        runs: the number of runs.
    """

    median: float
    low: float
    high: float
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of at least one value.

        >>> Spread.of([3.0, 1.0, 2.0])
        Spread(median=2.0, low=1.0, high=3.0, runs=3)
        """
        return cls(statistics.median(values), min(values), max(values), len(values))

    def to_json(self) -> dict[str, float]:
        """Return the spread as plain data for JSON."""
        return {"median": self.median, "low": self.low, "high": self.high, "runs": self.runs}


def ratios(values: Sequence[float], base: Sequence[float]) -> Spread:
    """Return the spread of each value divided by the base in the same round, as a slow machine affects both.

    >>> ratios([2.0, 4.0], [1.0, 4.0])
    Spread(median=1.5, low=1.0, high=2.0, runs=2)
    """
    return Spread.of(
        [value / max(divisor, _LEAST_SECONDS) for value, divisor in zip(values, base, strict=False)]
    )


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed (nearest rank).

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
    """Return the results of each measure, run in rounds in which every measure runs once.

    A measure that has used up its seconds is skipped in later rounds, so that a slow one does not delay the others;
    each runs at least once.

    Args:
        measures: name → a measurement.
        runs: the number of rounds.
        seconds: the time that one measure may take in all rounds.
        clock: returns the time.
    """
    results: dict[str, list[Any]] = {name: [] for name in measures}
    spent = dict.fromkeys(measures, 0.0)
    for _ in range(runs):
        for name, measure in measures.items():
            if results[name] and spent[name] >= seconds:
                continue
            started = clock()
            results[name].append(measure())
            spent[name] += clock() - started
    return results


def seconds_of(work: Callable[[], Any], *, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the wall seconds of one call without garbage collection; its result is freed after the clock is read."""
    with paused_garbage_collection():
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
    """Return the wall microseconds of the call for each text."""
    durations = []
    with paused_garbage_collection():
        for text in texts:
            started = clock()
            result = work(text)
            durations.append(clock() - started)
            del result
    return [max(nanoseconds, 1) / 1e3 for nanoseconds in durations]


def peak_bytes() -> int | None:
    """Return the peak resident memory of this process so far; None if the system does not report it.

    Not from `getrusage`: on Linux that figure is inherited from the parent process. It does not measure a single piece
    of work, which may reuse memory that was freed before.
    """
    with suppress(OSError, ValueError, IndexError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith(_PEAK):
                return int(line.split()[1]) * 1024
    return None


def training_peak_bytes() -> int | None:
    """Return the peak resident memory of this process or of any ended child process.

    A library may train in a process of its own. That figure is from `getrusage`: the part that it inherits is the peak
    of this process, which counts anyway.
    """
    own = peak_bytes()
    if own is None:
        return None
    import resource  # exists wherever /proc does

    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)


@dataclass(frozen=True, slots=True)
class Throughput:
    """Millions of UTF-8 bytes per second of `encode_batch`, on one thread unless stated otherwise.

    Attributes:
        cold: the first run, which fills caches.
        median: the median of the later runs.
        low: the slowest run.
        high: the fastest run.
        num_bytes: the size of the sample.
        runs: the number of runs.
        all_threads: the median on every processor.
    """

    cold: float
    median: float
    low: float
    high: float
    num_bytes: int
    runs: int
    all_threads: float


def throughput_of(tokenizer: Tokenizer, texts: Sequence[str]) -> Throughput | None:
    """Time a tokenizer on texts; return None if there is no text.

    Slow tokenizers get fewer runs.
    """
    num_bytes = sum(len(text.encode()) for text in texts)
    if not num_bytes:
        return None

    def seconds(threads: int | None) -> float:
        return seconds_of(lambda: tokenizer.encode_batch(texts, threads=threads))

    megabytes = num_bytes / 1e6
    cold = megabytes / seconds(1)
    results = in_turns(
        {"one thread": lambda: seconds(1), "all threads": lambda: seconds(None)},
        runs=_RUNS,
        seconds=_ENOUGH_SECONDS,
    )
    one, all_threads = (Spread.of([megabytes / taken for taken in rounds]) for rounds in results.values())
    return Throughput(
        cold=cold,
        median=one.median,
        low=one.low,
        high=one.high,
        num_bytes=num_bytes,
        runs=one.runs,
        all_threads=all_threads.median,
    )


def limit_memory(num_bytes: int) -> None:
    """Limit the data size of this process, and disable its core dumps. Does nothing on Windows."""
    try:
        import resource
    except ImportError:
        return
    _lower_limit(resource.RLIMIT_DATA, num_bytes)
    _lower_limit(resource.RLIMIT_CORE, 0)


def limit_time(seconds: float) -> None:
    """Kill this process after so many more seconds of processor time. Does nothing on Windows.

    A later, longer limit replaces an earlier one.
    """
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _lower_limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + seconds))


def _lower_limit(what: int, most: int) -> None:
    """Set a limit of this process, at most its hard limit, which stays unchanged."""
    import resource

    hard = resource.getrlimit(what)[1]
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
