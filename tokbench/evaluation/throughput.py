"""How fast a tokenizer encodes: the median of several runs over a sample."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.corpus import Document
    from tokbench.interfaces import Tokenizer

_RUNS = 3
_SAMPLE_CHARACTERS = 1 << 20
_ENOUGH_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Throughput:
    """Millions of UTF-8 bytes per second, of `encode_batch` on one thread.

    Attributes:
        median: over the runs, after one that is not counted.
        low: of the slowest run.
        high: of the fastest.
        num_bytes: the sample.
        runs: how many.
    """

    median: float
    low: float
    high: float
    num_bytes: int
    runs: int


def throughput_of(tokenizer: Tokenizer, documents: Iterable[Document]) -> Throughput | None:
    """Time a tokenizer on the first megabyte of some documents; None where there is no text.

    The first run fills caches; slow tokenizers have fewer of the others.
    """
    texts = sample_of(documents)
    num_bytes = sum(len(text.encode()) for text in texts)
    if not num_bytes:
        return None
    started = time.perf_counter()
    tokenizer.encode_batch(texts, threads=1)
    rates: list[float] = []
    while not rates or (len(rates) < _RUNS and time.perf_counter() - started < _ENOUGH_SECONDS):
        before = time.perf_counter()
        tokenizer.encode_batch(texts, threads=1)
        rates.append(num_bytes / 1e6 / max(time.perf_counter() - before, 1e-9))
    return Throughput(statistics.median(rates), min(rates), max(rates), num_bytes, len(rates))


def sample_of(documents: Iterable[Document], *, characters: int = _SAMPLE_CHARACTERS) -> list[str]:
    """The first texts, up to so many characters; the last of them is cut."""
    texts: list[str] = []
    left = characters
    for document in documents:
        texts.append(document.text[:left])
        left -= len(texts[-1])
        if left <= 0:
            break
    return texts
