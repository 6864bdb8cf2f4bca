"""Vocabularies that are the beginnings of one another: one segmentation answers for all of them.

BPE applies the pair of the lowest rank first, and what a merge creates is part of pairs of higher
ranks only. The merges that are applied come therefore in rising order, and those below a rank are
exactly the ones that the smaller vocabulary applies: its tokens are what is left when the younger
entries of a segmentation are taken apart again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def tokens_by_merges(frequencies: NDArray[np.int64], merges: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """How many tokens a text has under the first m merges, for every m, exactly.

    Args:
        frequencies: int64[B + M], how often each entry occurs when all M merges are used; the B base
            entries come first.
        merges: (left id, right id) of entry B + rank, each below it.

    Returns:
        int64[M + 1]: at m, the tokens with the first m merges. Never rises. Takes O(B + M).

    >>> tokens_by_merges(np.array([1, 0, 0, 2]), [(0, 1), (2, 0)]).tolist()
    [7, 5, 3]
    """
    counts = frequencies.tolist()
    base = len(counts) - len(merges)
    tokens = np.empty(len(merges) + 1, dtype=np.int64)
    total = sum(counts)
    tokens[-1] = total
    for rank in range(len(merges) - 1, -1, -1):
        left, right = merges[rank]
        count = counts[base + rank]
        counts[left] += count
        counts[right] += count
        total += count
        tokens[rank] = total
    return tokens


def scaffold_entries(frequencies: NDArray[np.int64], merges: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    """Which learned entries only feed other merges: they never occur, but an entry made of them does.

    Args:
        frequencies: as `tokens_by_merges`.
        merges: as there.

    Returns:
        bool[B + M].

    >>> scaffold_entries(np.array([1, 0, 0, 2]), [(0, 1), (2, 0)]).tolist()
    [False, False, True, False]
    """
    base = len(frequencies) - len(merges)
    feeds = np.zeros(len(frequencies), dtype=bool)
    used = frequencies > 0
    for rank in range(len(merges) - 1, -1, -1):
        entry = base + rank
        if used[entry] or feeds[entry]:
            feeds[list(merges[rank])] = True
    result = feeds & ~used
    result[:base] = False
    return result
