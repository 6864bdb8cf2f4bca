"""Spans from what `tokenizers` calls offsets: bytes for characters, and a place of its own for each token."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from tokbench.tokens import Span

if TYPE_CHECKING:
    from collections.abc import Sequence


def byte_offsets(text: str) -> Sequence[int]:
    """Where each character of a text begins in its UTF-8, and where the text ends.

    >>> list(byte_offsets("aé€"))
    [0, 1, 3, 6]
    """
    if text.isascii():
        return range(len(text) + 1)
    import numpy as np

    code_points = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
    sizes = 1 + (code_points >= 0x80) + (code_points >= 0x800) + (code_points >= 0x10000)
    offsets: list[int] = [0, *np.cumsum(sizes).tolist()]
    return offsets


def own_spans(data: bytes, ranges: Sequence[tuple[int, int]], pieces: Sequence[bytes | None]) -> list[Span]:
    r"""A span for each token, ordered and without overlap, from ranges that share characters.

    Of tokens that share a character each gets the bytes of its piece where they stand in the text;
    where they do not (a normaliser wrote something else), the last of them gets the character and
    those before it end in front of it.

    Args:
        data: the text.
        ranges: (start, stop) of each token in bytes, as whole characters.
        pieces: the bytes of each token; None for one that does not say what it covers.

    >>> own_spans("é".encode(), [(0, 2), (0, 2)], [b"\xc3", b"\xa9"])
    [Span(start=0, stop=1), Span(start=1, stop=2)]
    """
    starts = list(accumulate((start for start, _ in ranges), max))
    stops = [max(start, stop) for start, (_, stop) in zip(starts, ranges, strict=True)]
    spans: list[Span] = []
    behind = len(data)
    for number in reversed(range(len(ranges))):
        start, stop = starts[number], min(stops[number], behind)
        before = stops[number - 1] if number else 0
        if before > start:
            start = _start_inside(data, pieces[number], first=start, last=before, stop=stop)
        spans.append(Span(start, stop))
        behind = start
    return spans[::-1]


def _start_inside(data: bytes, piece: bytes | None, *, first: int, last: int, stop: int) -> int:
    """Where a token begins whose first character it shares with the token before it."""
    if piece is None:
        return first
    start = stop - len(piece)
    return start if first <= start <= last and data[start:stop] == piece else first
