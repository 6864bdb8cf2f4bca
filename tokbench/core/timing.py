"""Timing several things fairly: in turns, so that machine noise affects all of them equally."""

from __future__ import annotations

import gc
import math
import statistics
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_LEAST_SECONDS = 1e-9


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
        """As plain data."""
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
