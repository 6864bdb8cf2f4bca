"""Parity-aware training in Python: one trainer for each language, which applies the merges of all languages."""

from __future__ import annotations

import heapq
from collections import deque
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from tokbench.backends.bpe.fallback.training import Trainer
from tokbench.backends.bpe.parity.reference import GLOBAL
from tokbench.backends.bpe.reference import NUM_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from tokbench.backends.bpe.fallback.counting import PretokenCounter, WordList
    from tokbench.backends.bpe.reference import Pair

    Counted = PretokenCounter | WordList

_MOST = 1 << 31
_REPORT_EVERY = 64


def train_for_parity(
    languages: list[Counted],
    development: list[Counted],
    *,
    num_merges: int,
    num_global: int,
    divisors: list[int],
    window: int,
    most_taken: int,
    min_frequency: int,
    max_token_length: int,
    seed: int,
    progress: Callable[[int], None] | None,
) -> tuple[NDArray[np.uint32], NDArray[np.int64], int, NDArray[np.int32], NDArray[np.int64]]:
    """Learn each merge for one language; see `Kernel.train_for_parity` for arguments and result."""
    del seed
    _check(languages, development, divisors=divisors, min_frequency=min_frequency)
    texts = [_Text(counter.items(), max_token_length=max_token_length) for counter in languages]
    held = [_Text(counter.items(), max_token_length=max_token_length) for counter in development]
    together = (item for counter in languages for item in counter.items())
    total = _Text(together, max_token_length=max_token_length)
    merges: list[Pair] = []
    counts: list[int] = []
    chosen_for: list[int] = []
    taken: deque[int] = deque(maxlen=window)

    def need(language: int) -> tuple[bool, Fraction, int]:
        is_over = window > 0 and taken.count(language) > most_taken
        return is_over, -Fraction(held[language].num_tokens, divisors[language]), language

    while len(merges) < num_merges:
        language = GLOBAL
        pair = None
        if len(merges) < num_global:
            pair = total.top(min_frequency)
        else:
            for language in sorted(range(len(held)), key=need):
                if (pair := texts[language].top(min_frequency)) is not None:
                    taken.append(language)
                    break
        if pair is None:
            break
        counts.append(sum(text.merge_anywhere(pair) for text in texts))
        for text in (*held, total):
            text.merge_anywhere(pair)
        merges.append(pair)
        chosen_for.append(language)
        if progress is not None and len(merges) % _REPORT_EVERY == 0:
            progress(len(merges))
    return (
        np.array(merges, dtype=np.uint32).reshape(-1, 2),
        np.array(counts, dtype=np.int64),
        sum(text.num_tokens for text in texts),
        np.array(chosen_for, dtype=np.int32),
        np.array([text.num_tokens for text in held], dtype=np.int64),
    )


class _Text(Trainer):
    """A text in which any pair can be merged, and which knows its most frequent pair."""

    def __init__(self, words: Iterable[tuple[bytes, int]], *, max_token_length: int) -> None:
        super().__init__(
            words, token_lengths=[1] * NUM_BYTES, min_frequency=1, max_token_length=max_token_length
        )

    def top(self, min_frequency: int) -> Pair | None:
        """Return the most frequent pair of this text; None if it is rarer than `min_frequency`."""
        while self._heap:
            negative_count, pair = self._heap[0]
            count = self._counts[pair]
            if count == -negative_count:
                return pair if count >= min_frequency else None
            heapq.heappop(self._heap)
            if count > 0:
                heapq.heappush(self._heap, (-count, pair))
        return None

    def merge_anywhere(self, pair: Pair) -> int:
        """Merge all occurrences of a pair, and return its count."""
        count = self._counts.get(pair, 0)
        if count > 0:
            self._merge(pair, count)
        else:
            self._lengths.append(self._lengths[pair[0]] + self._lengths[pair[1]])
        return count


def _check(
    languages: list[Counted], development: list[Counted], *, divisors: list[int], min_frequency: int
) -> None:
    """Raise ValueError for the arguments that the compiled kernel rejects, too."""
    if min_frequency < 1:
        raise ValueError("min_frequency must be at least 1")
    if not development:
        raise ValueError("there is no development text")
    if len(languages) < len(development):
        raise ValueError("a development text has no language")
    if len(divisors) != len(development):
        raise ValueError("there must be a divisor for each language")
    if not all(1 <= divisor <= _MOST for divisor in divisors):
        raise ValueError("a divisor is out of range")
    for text in development:
        if sum(len(word) * count for word, count in text.items()) > _MOST:
            raise ValueError("a development text has more than 2 GiB")
