"""How fast a tokenizer encodes: the median of several runs over a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.core.time_and_memory import Spread, in_turns, seconds_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.core.interfaces import Tokenizer

_RUNS = 3
_ENOUGH_SECONDS = 2.0


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
