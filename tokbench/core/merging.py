"""Merge the symbols of a text by the ranks of their pairs, with or without dropout.

The Python fallback of the BPE kernel encodes with it, and `--dropout` samples with it: for our own BPE
(`backends/bpe/dropout.py`) and SentencePiece's (`libraries/sentencepiece/sampling.py`).
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Symbol = TypeVar("Symbol")
Rank = TypeVar("Rank", bound=float)


def merge_symbols(
    symbols: Iterable[Symbol],
    merge_of: Callable[[tuple[Symbol, Symbol]], tuple[Rank, Symbol] | None],
    *,
    is_dropped: Callable[[], bool] | None = None,
    retries: bool = True,
) -> list[Symbol]:
    """Merge neighbours until no merge is left: the smallest rank first, of equal ranks the leftmost.

    Takes O(n log n) steps for n symbols.

    Args:
        symbols: the initial symbols of the text.
        merge_of: a pair of neighbours → the rank of their merge and the merged symbol; None for no merge.
        is_dropped: called once for each merge whose turn has come: whether to skip it. None skips no merge.
        retries: whether a skipped merge becomes possible again after the next merge, wherever that is
            (Provilkov et al. 2020, algorithm 1); if False, only after one of its two symbols has changed
            (SentencePiece).

    >>> merges = {("a", "b"): (0, "ab"), ("ab", "c"): (1, "abc")}
    >>> merge_symbols("abcab", merges.get)
    ['abc', 'ab']
    """
    merged: list[Any] = list(symbols)  # None for a symbol that was merged into the one before it
    previous, following = list(range(-1, len(merged) - 1)), [*range(1, len(merged)), -1]
    heap: list[tuple[Rank, int, Symbol, Symbol, Symbol]] = [
        (merge[0], start, *neighbours, merge[1])
        for start, neighbours in enumerate(pairwise(merged))
        if (merge := merge_of(neighbours)) is not None
    ]
    heapify(heap)
    dropped: list[tuple[Rank, int, Symbol, Symbol, Symbol]] = []
    while heap:
        candidate = heappop(heap)
        _, position, left, right, whole = candidate
        right_position = following[position]
        if merged[position] != left or right_position < 0 or merged[right_position] != right:
            continue  # one of the two was merged into another symbol
        if is_dropped is not None and is_dropped():
            if retries:
                dropped.append(candidate)
            continue
        merged[position], merged[right_position] = whole, None
        following[position] = after = following[right_position]
        if after >= 0:
            previous[after] = position
        for start in (previous[position], position):
            if start >= 0 and following[start] >= 0:
                pair = merged[start], merged[following[start]]
                if (merge := merge_of(pair)) is not None:
                    heappush(heap, (merge[0], start, *pair, merge[1]))
        if dropped:
            for candidate in dropped:
                heappush(heap, candidate)
            dropped.clear()
    return [symbol for symbol in merged if symbol is not None]
