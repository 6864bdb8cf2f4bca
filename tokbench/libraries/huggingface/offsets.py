"""Spans from the offsets of `tokenizers`: in bytes instead of characters, and without overlap."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.token_arrays import character_offsets, offsets_of, range_indices
from tokbench.core.tokens import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokbench.core.token_arrays import PieceTable
    from tokbench.core.tokens import Encoded


def byte_offsets(text: str) -> Sequence[int]:
    """Return the UTF-8 byte offset of each character of a text, and of its end.

    >>> list(byte_offsets("aé€"))
    [0, 1, 3, 6]
    """
    if text.isascii():
        return range(len(text) + 1)
    offsets: list[int] = character_offsets(text).tolist()
    return offsets


def own_spans(data: bytes, ranges: Sequence[tuple[int, int]], pieces: Sequence[bytes | None]) -> list[Span]:
    r"""Return a span for each token, ordered and without overlap, from ranges that share characters.

    If tokens share a character, each gets the bytes of its piece, provided that the text has these bytes
    there. Otherwise, because a normalizer changed the text, the last token gets the character and the
    tokens before it end before the character.

    Args:
        data: the text.
        ranges: (start, stop) of each token in bytes, at character boundaries.
        pieces: the bytes of each token; None for an unknown token, whose piece does not tell its text.

    >>> own_spans("é".encode(), [(0, 2), (0, 2)], [b"\xc3", b"\xa9"])
    [Span(start=0, stop=1), Span(start=1, stop=2)]
    """
    starts = list(accumulate((start for start, _ in ranges), max))
    stops = [max(start, stop) for start, (_, stop) in zip(starts, ranges, strict=True)]
    spans: list[Span] = []
    next_start = len(data)
    for number in reversed(range(len(ranges))):
        start, stop = starts[number], min(stops[number], next_start)
        before = stops[number - 1] if number else 0
        if before > start:
            start = _start_inside(data, pieces[number], first=start, last=before, stop=stop)
        spans.append(Span(start, stop))
        next_start = start
    return spans[::-1]


def _start_inside(data: bytes, piece: bytes | None, *, first: int, last: int, stop: int) -> int:
    """Return the start of a token that shares its first character with the token before it."""
    if piece is None:
        return first
    start = stop - len(piece)
    return start if first <= start <= last and data[start:stop] == piece else first


# --- many texts at once -----------------------------------------------------------------------


def byte_ranges(
    texts: Sequence[str], encoded: Encoded, ranges: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and stops in bytes of each token's own text.

    Args:
        texts: the texts, without lone surrogates.
        encoded: their ids.
        ranges: int64[N, 2], the character range of each token in its own text.
    """
    places = character_offsets("".join(texts))
    lengths = list(map(len, texts))
    first_characters = offsets_of(lengths)[:-1]
    counts = np.diff(encoded.offsets)
    firsts = np.repeat(places[first_characters], counts)
    ranges = np.minimum(ranges, np.repeat(np.array(lengths, np.int64), counts)[:, np.newaxis])
    ranges = places[ranges + np.repeat(first_characters, counts)[:, np.newaxis]]
    ranges -= firsts[:, np.newaxis]
    return ranges[:, 0], ranges[:, 1]


def own_places(
    texts: Sequence[str],
    encoded: Encoded,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    *,
    pieces: PieceTable,
    is_silent: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the starts and stops of `own_spans` for many texts at once.

    Args:
        texts: the texts, without lone surrogates.
        encoded: their ids.
        starts: int64[N], in bytes of each token's own text, at character boundaries.
        stops: int64[N].
        pieces: the bytes of the ids.
        is_silent: bool[N], whether a token's piece does not tell its text.
    """
    data = "".join(texts).encode()
    sizes = [len(text) if text.isascii() else len(text.encode()) for text in texts]
    # Treat all texts as one: no token reaches into another text, so the code below need not separate them.
    firsts = np.repeat(offsets_of(sizes)[:-1], np.diff(encoded.offsets))
    starts = np.maximum.accumulate(starts + firsts)
    stops = np.maximum(starts, stops + firsts)
    # Whether a token shares its first character with the token before it.
    shares = np.zeros(len(starts) + 1, np.bool_)
    np.greater(stops[:-1], starts[1:], out=shares[1:-1])
    silent = np.flatnonzero(shares[:-1] & is_silent)
    stops[silent - 1] = starts[silent]
    shares[silent] = False
    if shares.any():
        _separate(starts, stops, shares, ids=encoded.ids, data=data, pieces=pieces)
    return starts - firsts, stops - firsts


def _separate(
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    shares: NDArray[np.bool_],
    *,
    ids: NDArray[np.uint32],
    data: bytes,
    pieces: PieceTable,
) -> None:
    """Separate the tokens that share characters, in place.

    A run of such tokens is separated at the ends of their pieces if the pieces, laid side by side so that the last
    one ends where its token does, match the text, and each boundary is inside the shared characters. The other
    runs go through `own_spans`.
    """
    members = np.flatnonzero(shares[:-1] | shares[1:])
    inside = shares[members]
    heads = np.flatnonzero(~inside)
    lasts = np.append(heads[1:], len(members)) - 1
    run = np.repeat(np.arange(len(heads)), lasts - heads + 1)
    sizes = pieces.sizes[ids[members]]
    ends = np.cumsum(sizes)
    begins = (stops[members[lasts]] - ends[lasts])[run] + ends - sizes
    fits = ~inside | (
        (begins >= starts[members])
        & (begins <= stops[members - 1])
        & _are_text(begins, sizes, pieces.joined(ids[members]), data)
    )
    run_fits = np.logical_and.reduceat(fits, heads)[run]
    parted = run_fits & inside
    starts[members[parted]] = stops[members[parted] - 1] = begins[parted]
    rest = members[~run_fits]
    spans = own_spans(
        data,
        list(zip(starts[rest].tolist(), stops[rest].tolist(), strict=True)),
        [pieces.pieces[id] for id in ids[rest].tolist()],
    )
    starts[rest] = [span.start for span in spans]
    stops[rest] = [span.stop for span in spans]


def _are_text(
    begins: NDArray[np.int64], sizes: NDArray[np.int64], pieces: bytes, data: bytes
) -> NDArray[np.bool_]:
    """Return for each piece whether its bytes occur in the text at its assumed start."""
    places = range_indices(begins, sizes)
    differs = np.frombuffer(data, np.uint8).take(places, mode="clip") != np.frombuffer(pieces, np.uint8)
    edges, wrong = offsets_of(sizes), offsets_of(differs)
    return np.asarray(wrong[edges[1:]] == wrong[edges[:-1]])
