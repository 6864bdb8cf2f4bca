"""Tokens in blocks that can be laid out by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHORTEST_BLOCK, LONGEST_BLOCK = 256, 512
"""Tokens of a block: behind so many it ends at the next line end, and behind so many in any case."""


def block_edges(data: bytes, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> tuple[int, ...]:
    """The first token of each block, and the number of tokens.

    A block begins with a whole character that no token before it reaches into, at a line's beginning where there is
    one in time.

    Args:
        data: the text as UTF-8.
        starts: int64[N], where each token begins in it, in bytes.
        stops: int64[N], where it ends.
    """
    count = len(starts)
    if count <= LONGEST_BLOCK:
        return (0, count)
    text = np.frombuffer(data, np.uint8)
    may_begin = _where_blocks_may_begin(text, starts, stops)
    lines = may_begin[text[np.maximum(starts[may_begin], 1) - 1] == ord("\n")]
    edges = [0]
    while count - edges[-1] > LONGEST_BLOCK:
        edge = _next(lines, edges[-1] + SHORTEST_BLOCK)
        if edge is None or edge - edges[-1] > LONGEST_BLOCK:
            edge = _next(may_begin, edges[-1] + LONGEST_BLOCK)
        if edge is None:
            break
        edges.append(edge)
    return (*edges, count)


def _where_blocks_may_begin(
    text: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> NDArray[np.intp]:
    begins_character = (text[np.minimum(starts, len(text) - 1)] & 0xC0) != 0x80
    reached = np.maximum.accumulate(np.concatenate([[0], stops[:-1]]))
    return np.flatnonzero(begins_character & (starts >= reached) & (starts < len(text)))


def _next(sorted_places: NDArray[np.intp], least: int) -> int | None:
    found = int(np.searchsorted(sorted_places, least))
    return int(sorted_places[found]) if found < len(sorted_places) else None
