"""How fast a tokenizer encodes: the median of several runs over a sample."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    cold = _rate(tokenizer, texts, num_bytes, threads=1)
    rates = _rates(tokenizer, texts, num_bytes, threads=1)
    return Throughput(
        cold=cold,
        median=statistics.median(rates),
        low=min(rates),
        high=max(rates),
        num_bytes=num_bytes,
        runs=len(rates),
        all_threads=statistics.median(_rates(tokenizer, texts, num_bytes, threads=None)),
    )


def _rates(tokenizer: Tokenizer, texts: Sequence[str], num_bytes: int, *, threads: int | None) -> list[float]:
    started = time.perf_counter()
    rates: list[float] = []
    while not rates or (len(rates) < _RUNS and time.perf_counter() - started < _ENOUGH_SECONDS):
        rates.append(_rate(tokenizer, texts, num_bytes, threads=threads))
    return rates


def _rate(tokenizer: Tokenizer, texts: Sequence[str], num_bytes: int, *, threads: int | None) -> float:
    started = time.perf_counter()
    tokenizer.encode_batch(texts, threads=threads)
    return num_bytes / 1e6 / max(time.perf_counter() - started, 1e-9)
