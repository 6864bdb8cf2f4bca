"""Intermediate tokens: those that only occur inside larger ones on a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def intermediate_tokens(
    frequencies: NDArray[np.int64], merges: Sequence[tuple[int, int]]
) -> NDArray[np.bool_]:
    """Which learned tokens only feed other merges: they never occur, but a token made of them does.

    Args:
        frequencies: int64[B + M], how often each token occurs; the B base tokens come first.
        merges: (left id, right id) of token B + rank, each below it.

    Returns:
        bool[B + M].

    >>> intermediate_tokens(np.array([1, 0, 0, 2]), [(0, 1), (2, 0)]).tolist()
    [False, False, True, False]
    """
    base = len(frequencies) - len(merges)
    feeds = np.zeros(len(frequencies), dtype=bool)
    used = frequencies > 0
    for rank in range(len(merges) - 1, -1, -1):
        token = base + rank
        if used[token] or feeds[token]:
            feeds[list(merges[rank])] = True
    result = feeds & ~used
    result[:base] = False
    return result
