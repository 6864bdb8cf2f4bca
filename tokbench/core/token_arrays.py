"""The tokens of many texts in arrays, with spans: for any tokenizer, and fast for those with `SupportsSpans`.

Also contains helpers for tokenizers that compute spans in bulk. `segment` defines the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tokbench.core.argument_types import texts_of
from tokbench.core.capabilities import SupportsSpans
from tokbench.core.tokens import Encoded, EncodedSpans, TokenKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.tokens import Token

_Scalar = TypeVar("_Scalar", bound=np.generic)

KIND_NUMBERS = {kind: number for number, kind in enumerate(TokenKind)}
"""The number of each kind in `EncodedSpans.kinds`."""

_BLOCK = 1 << 16
_FEW = 4
"""How many times as long all texts of a batch are, at least, as the few that a library encodes."""
_MOVED_AT_ONCE = 1 << 16


def encode_spans(tokenizer: Tokenizer, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
    """Encode many texts into arrays with the ids, spans and kinds that `segment` gives.

    Args:
        tokenizer: any tokenizer; without `SupportsSpans` it segments text by text.
        texts: the texts, in which special tokens are ordinary text.
        threads: None takes every processor; the result does not depend on it.

    Raises:
        TextError: a text holds a lone surrogate.

    Usage:

        spans = encode_spans(tokenizer, ["a text", "another"])
        lengths = spans.stops - spans.starts
    """
    if isinstance(tokenizer, SupportsSpans):
        return tokenizer.encode_spans(texts, threads=threads)
    return segmented(tokenizer, texts_of(texts))


def segmented(tokenizer: Tokenizer, texts: Sequence[str]) -> EncodedSpans:
    """Return the tokens of many texts by `segment`. Raises `TextError`."""
    counts: list[int] = []
    tokens: list[Token] = []
    for text in texts:
        text_tokens = tokenizer.segment(text).tokens
        counts.append(len(text_tokens))
        tokens.extend(text_tokens)
    return EncodedSpans(
        encoded=Encoded(
            ids=np.fromiter((token.id for token in tokens), np.uint32, len(tokens)),
            offsets=offsets_of(counts),
        ),
        starts=np.fromiter((token.span.start for token in tokens), np.int64, len(tokens)),
        stops=np.fromiter((token.span.stop for token in tokens), np.int64, len(tokens)),
        kinds=np.fromiter((KIND_NUMBERS[token.kind] for token in tokens), np.uint8, len(tokens)),
    )


def divided(
    texts: Sequence[str],
    *,
    where: Callable[[str], bool],
    then: Callable[[Sequence[str]], EncodedSpans],
    otherwise: Callable[[Sequence[str]], EncodedSpans],
) -> EncodedSpans:
    """Encode texts in two ways; return the tokens in the order of the texts.

    Args:
        texts: the texts of both ways.
        where: whether a text is encoded by `then`.
        then: encodes the texts for which `where` is true; not called if there are none.
        otherwise: encodes the other texts; if there are none, it is called only for an empty list of texts.
    """
    chosen, ours, theirs = _partition(texts, where)
    if not ours:
        return otherwise(texts)
    if not theirs:
        return then(texts)
    return combined(then(ours), otherwise(theirs), chosen=chosen)


def combined(one: EncodedSpans, other: EncodedSpans, *, chosen: NDArray[np.bool_]) -> EncodedSpans:
    """Join the tokens of two sets of texts.

    Args:
        one: the tokens of some of the texts, in order.
        other: the tokens of the other texts, in order.
        chosen: bool[texts], whether each text of the result is the next one of the first set.
    """
    encoded, runs = _merge(one.encoded, other.encoded, chosen=chosen)
    return EncodedSpans(
        encoded=encoded,
        starts=_interleaved(one.starts, other.starts, runs=runs),
        stops=_interleaved(one.stops, other.stops, runs=runs),
        kinds=_interleaved(one.kinds, other.kinds, runs=runs),
    )


def divided_ids(
    texts: Sequence[str],
    *,
    where: Callable[[str], bool],
    then: Callable[[Sequence[str]], Encoded],
    otherwise: Callable[[Sequence[str]], Encoded],
) -> Encoded:
    """Encode texts in two ways, as `divided` does; return only the ids."""
    return changed_ids(
        texts, change=lambda text: text if where(text) else None, then=then, otherwise=otherwise
    )


def changed_ids(
    texts: Sequence[str],
    *,
    change: Callable[[str], str | None],
    then: Callable[[list[str]], Encoded],
    otherwise: Callable[[Sequence[str]], Encoded],
) -> Encoded:
    """Encode what `change` makes of texts with `then`, and with `otherwise` the texts for which it returns None."""
    changed = list(map(change, texts))
    ours = [text for text in changed if text is not None]
    if not ours:
        return otherwise(texts)
    if len(ours) == len(texts):
        return then(ours)
    theirs = [text for text, made in zip(texts, changed, strict=True) if made is None]
    chosen = np.fromiter((made is not None for made in changed), np.bool_, len(texts))
    if _FEW * sum(map(len, theirs)) > sum(map(len, ours)):
        return _merge(then(ours), otherwise(theirs), chosen=chosen)[0]
    other = otherwise(theirs)
    # Their texts make room for their ids in the array, so that it need not be copied: at a first pass, new memory takes
    # longer than moving ids.
    with_room = then([*ours, *theirs])
    one = Encoded(with_room.ids, with_room.offsets[: len(ours) + 1])
    return (
        _inserted(one, other, chosen=chosen)
        or _merge(Encoded(one.ids[: one.offsets[-1]], one.offsets), other, chosen=chosen)[0]
    )


def _partition(
    texts: Sequence[str], where: Callable[[str], bool]
) -> tuple[NDArray[np.bool_], list[str], list[str]]:
    """Return for each text whether `where` holds, then the texts where it does and those where it does not."""
    chosen = np.fromiter(map(where, texts), np.bool_, len(texts))
    ours = [text for text, is_chosen in zip(texts, chosen, strict=True) if is_chosen]
    theirs = [text for text, is_chosen in zip(texts, chosen, strict=True) if not is_chosen]
    return chosen, ours, theirs


def _joined_offsets(one: Encoded, other: Encoded, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the offsets of all texts; `chosen` is as for `combined`."""
    counts = np.zeros(len(chosen), np.int64)
    counts[chosen] = np.diff(one.offsets)
    counts[~chosen] = np.diff(other.offsets)
    return offsets_of(counts)


def _merge(
    one: Encoded, other: Encoded, *, chosen: NDArray[np.bool_]
) -> tuple[Encoded, list[tuple[bool, int]]]:
    """Join the ids of two sets of texts; `chosen` is as for `combined`.

    Returns:
        The ids, and their runs: whether they come from the first set, and how many there are.
    """
    offsets = _joined_offsets(one, other, chosen)
    firsts = [0, *(np.flatnonzero(chosen[1:] != chosen[:-1]) + 1).tolist()][: len(chosen)]
    lengths = np.diff(offsets[[*firsts, len(chosen)]]).tolist()
    runs = [(bool(chosen[first]), length) for first, length in zip(firsts, lengths, strict=True)]
    return Encoded(ids=_interleaved(one.ids, other.ids, runs=runs), offsets=offsets), runs


def _inserted(one: Encoded, other: Encoded, *, chosen: NDArray[np.bool_]) -> Encoded | None:
    """Join as `_merge` does, in the array of the first set if its ids are followed by enough room; else return None.

    From the last run to the first, each moves to its place: no run is overwritten before it has moved.
    """
    offsets = _joined_offsets(one, other, chosen)
    total, ids = int(offsets[-1]), one.ids
    if total > len(ids):
        return None
    taken, moved = len(other.ids), int(one.offsets[-1])
    for place in np.flatnonzero(~chosen)[::-1].tolist():
        start, stop = int(offsets[place]), int(offsets[place + 1])
        first = stop - taken  # where the ids that follow this text are now
        _move(ids, first, moved, by=taken)
        taken, moved = taken - (stop - start), first
        ids[start:stop] = other.ids[taken : taken + stop - start]
    return Encoded(ids=ids[:total], offsets=offsets)


def _move(values: NDArray[_Scalar], start: int, stop: int, *, by: int) -> None:
    """Move a part of an array to the right, over itself if need be, without copying it as a whole."""
    while stop > start:
        first = max(start, stop - _MOVED_AT_ONCE)
        values[first + by : stop + by] = values[first:stop].copy()
        stop = first


def _interleaved(
    one: NDArray[_Scalar], other: NDArray[_Scalar], *, runs: Sequence[tuple[bool, int]]
) -> NDArray[_Scalar]:
    """Join the values of both run by run; choosing value by value would take ten times as long."""
    values = np.empty(len(one) + len(other), one.dtype)
    at = taken = 0
    for is_one, length in runs:
        start = taken if is_one else at - taken
        values[at : at + length] = (one if is_one else other)[start : start + length]
        at += length
        taken += length if is_one else 0
    return values


def selected(spans: EncodedSpans, chosen: NDArray[np.bool_]) -> EncodedSpans:
    """Return the tokens of some of the texts.

    Args:
        spans: the tokens of all texts.
        chosen: bool[texts], the texts to select.
    """
    where = np.repeat(chosen, spans.encoded.counts)
    encoded = Encoded(spans.encoded.ids[where], offsets_of(spans.encoded.counts[chosen]))
    return EncodedSpans(encoded, spans.starts[where], spans.stops[where], spans.kinds[where])


def tiled_spans(
    offsets: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the starts and stops of contiguous tokens, relative to the beginning of each text.

    Args:
        offsets: int64[texts + 1], as in `Encoded`.
        sizes: int64[N], the bytes that each token covers.
    """
    edges = offsets_of(sizes)
    firsts = np.repeat(edges[offsets[:-1]], np.diff(offsets))
    return edges[:-1] - firsts, edges[1:] - firsts


def offsets_of(counts: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the cumulative offsets of contiguous items: the start of each, and the end of the last.

    Args:
        counts: the length of each item.

    >>> offsets_of([2, 0, 1]).tolist()
    [0, 2, 2, 3]
    """
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(np.asarray(counts, np.int64), out=offsets[1:])
    return offsets


def range_indices(firsts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of several ranges of an array, range after range.

    Args:
        firsts: the start of each range.
        counts: the length of each range.

    >>> range_indices(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    edges = offsets_of(counts)
    return np.repeat(firsts - edges[:-1], counts) + np.arange(edges[-1])


def character_offsets(text: str) -> NDArray[np.int64]:
    """Return the UTF-8 offset of each character of a text, and that of its end.

    >>> character_offsets("aé€").tolist()
    [0, 1, 3, 6]
    """
    if text.isascii():
        return np.arange(len(text) + 1, dtype=np.int64)
    code_points = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
    sizes = np.ones(len(code_points), np.int64)
    sizes += code_points >= 0x80
    sizes += code_points >= 0x800
    sizes += code_points >= 0x10000
    return offsets_of(sizes)


def continuation_bytes(text: str) -> NDArray[np.int64]:
    """Return for each UTF-8 continuation byte of a text the index of its character.

    Character `n` thus begins at byte `n + np.searchsorted(continuation_bytes(text), n)`, which is faster than
    `character_offsets` where few offsets are needed.

    >>> continuation_bytes("aé€").tolist()
    [1, 2, 2]
    """
    if text.isascii():
        return np.empty(0, np.int64)
    data = np.frombuffer(text.encode(), np.int8)
    places = np.flatnonzero(data < -64)
    return places - np.arange(1, len(places) + 1)


@dataclass(frozen=True, slots=True)
class PieceTable:
    """The bytes of every id, for joining those of many ids at once.

    Attributes:
        pieces: the bytes of each id.
        data: the bytes of all ids, concatenated.
        offsets: int64[ids + 1], the start of each id's bytes in `data`.
        sizes: int64[ids], the number of bytes of each id.
    """

    pieces: Sequence[bytes]
    data: bytes
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, pieces: Sequence[bytes]) -> PieceTable:
        """Build the table from the pieces by id."""
        offsets = offsets_of(list(map(len, pieces)))
        return cls(pieces=pieces, data=b"".join(pieces), offsets=offsets, sizes=np.diff(offsets))

    def joined(self, ids: NDArray[np.uint32]) -> bytes:
        """Return the joined bytes of ids.

        >>> PieceTable.of([b"a", b"bc"]).joined(np.array([1, 0, 1], np.uint32))
        b'bcabc'
        """
        # In blocks, as the indices take eight times as much memory as the bytes.
        return b"".join(self._block(ids[first : first + _BLOCK]) for first in range(0, len(ids), _BLOCK))

    def _block(self, ids: NDArray[np.uint32]) -> bytes:
        places = range_indices(self.offsets[ids], self.sizes[ids])
        return bytes(np.frombuffer(self.data, np.uint8)[places])


class TiledSpans(EncodedSpans):
    """Tokens of kind NORMAL whose bytes join to those of their text.

    Their spans follow from that, and are computed on first use.

    >>> spans = TiledSpans(Encoded(np.array([1, 0, 1], np.uint32), np.array([0, 2, 3])), PieceTable.of([b"a", b"bc"]))
    >>> spans.starts.tolist(), spans.stops.tolist()
    ([0, 2, 0], [2, 3, 2])
    """

    def __init__(self, encoded: Encoded, pieces: PieceTable) -> None:
        """Store the tokens of texts.

        Args:
            encoded: the ids of the texts.
            pieces: the bytes of every id.
        """
        object.__setattr__(self, "encoded", encoded)
        self.__dict__["pieces"] = pieces

    @property
    def pieces(self) -> PieceTable:
        """The bytes of every id."""
        table: PieceTable = self.__dict__["pieces"]
        return table

    @cached_property
    def _bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return tiled_spans(self.encoded.offsets, self.pieces.sizes[self.encoded.ids])

    @property
    def starts(self) -> NDArray[np.int64]:
        """int64[N], the start of each token in its own text."""
        return self._bounds[0]

    @property
    def stops(self) -> NDArray[np.int64]:
        """int64[N], the stop of each token."""
        return self._bounds[1]

    @property
    def kinds(self) -> NDArray[np.uint8]:
        """uint8[N], all NORMAL."""
        return np.zeros(len(self.encoded.ids), np.uint8)
