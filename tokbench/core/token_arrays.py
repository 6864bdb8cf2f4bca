"""The tokens of many texts in arrays, with their spans: from every tokenizer, fast where it implements `SupportsSpans`.

Helpers for tokenizers that compute spans in bulk are here too. `segment` defines the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tokbench.core.argument_types import texts_of
from tokbench.core.capabilities import SupportsSpans
from tokbench.core.encoded import Encoded, EncodedSpans
from tokbench.core.tokens import TokenKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.tokens import Token

_Scalar = TypeVar("_Scalar", bound=np.generic)

KIND_NUMBERS = {kind: number for number, kind in enumerate(TokenKind)}
"""How `EncodedSpans.kinds` writes a kind."""

_BLOCK = 1 << 16


def encode_spans(tokenizer: Tokenizer, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
    """The tokens of many texts in arrays: the ids, spans and kinds that `segment` gives.

    Args:
        tokenizer: any; without `SupportsSpans` it segments text by text.
        texts: nothing in them is a special token.
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
    """The tokens of many texts by `segment`. Raises `TextError`."""
    counts: list[int] = []
    tokens: list[Token] = []
    for text in texts:
        found = tokenizer.segment(text).tokens
        counts.append(len(found))
        tokens.extend(found)
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
    """The tokens of texts that are encoded in two ways, in the order of the texts.

    Args:
        texts: of both sorts.
        where: tells of a text which way it goes.
        then: encodes those for which that is true; not called where there are none.
        otherwise: encodes the others; where there are none it is called only for no texts at all.
    """
    chosen, ours, theirs = _parted(texts, where)
    if not ours:
        return otherwise(texts)
    if not theirs:
        return then(texts)
    return combined(then(ours), otherwise(theirs), chosen=chosen)


def combined(one: EncodedSpans, other: EncodedSpans, *, chosen: NDArray[np.bool_]) -> EncodedSpans:
    """The tokens of the texts of both.

    Args:
        one: some of the texts, in their order.
        other: the rest, in theirs.
        chosen: bool[texts], of each text in the order of the result whether it is the next of the first.
    """
    encoded, runs = _merged(one.encoded, other.encoded, chosen=chosen)
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
    """The ids of texts that are encoded in two ways, as `divided` does it."""
    chosen, ours, theirs = _parted(texts, where)
    if not ours:
        return otherwise(texts)
    if not theirs:
        return then(texts)
    return _merged(then(ours), otherwise(theirs), chosen=chosen)[0]


def _parted(
    texts: Sequence[str], where: Callable[[str], bool]
) -> tuple[NDArray[np.bool_], list[str], list[str]]:
    """Of each text whether it is of the first sort, then the texts of the first and of the second."""
    chosen = np.fromiter(map(where, texts), np.bool_, len(texts))
    ours = [text for text, is_chosen in zip(texts, chosen, strict=True) if is_chosen]
    theirs = [text for text, is_chosen in zip(texts, chosen, strict=True) if not is_chosen]
    return chosen, ours, theirs


def _merged(
    one: Encoded, other: Encoded, *, chosen: NDArray[np.bool_]
) -> tuple[Encoded, list[tuple[bool, int]]]:
    """The texts of both, in an order that says of each text whether it is the next of the first.

    Returns:
        The ids, and their runs: whether they come from the first, and how many.
    """
    counts = np.zeros(len(chosen), np.int64)
    counts[chosen] = np.diff(one.offsets)
    counts[~chosen] = np.diff(other.offsets)
    offsets = offsets_of(counts)
    firsts = [0, *(np.flatnonzero(chosen[1:] != chosen[:-1]) + 1).tolist()][: len(chosen)]
    lengths = np.diff(offsets[[*firsts, len(chosen)]]).tolist()
    runs = [(bool(chosen[first]), length) for first, length in zip(firsts, lengths, strict=True)]
    return Encoded(ids=_interleaved(one.ids, other.ids, runs=runs), offsets=offsets), runs


def _interleaved(
    one: NDArray[_Scalar], other: NDArray[_Scalar], *, runs: Sequence[tuple[bool, int]]
) -> NDArray[_Scalar]:
    """Values of both, run by run: a choice for each value would take ten times as long."""
    values = np.empty(len(one) + len(other), one.dtype)
    at = taken = 0
    for is_one, length in runs:
        start = taken if is_one else at - taken
        values[at : at + length] = (one if is_one else other)[start : start + length]
        at += length
        taken += length if is_one else 0
    return values


def selected(spans: EncodedSpans, chosen: NDArray[np.bool_]) -> EncodedSpans:
    """The tokens of some texts.

    Args:
        spans: the tokens of all of them.
        chosen: bool[texts], which ones.
    """
    where = np.repeat(chosen, spans.encoded.counts)
    encoded = Encoded(spans.encoded.ids[where], offsets_of(spans.encoded.counts[chosen]))
    return EncodedSpans(encoded, spans.starts[where], spans.stops[where], spans.kinds[where])


def tiled_spans(
    offsets: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where tokens begin and end that stand side by side, counted from the beginning of each text.

    Args:
        offsets: int64[texts + 1], as in `Encoded`.
        sizes: int64[N], the bytes that each token covers.
    """
    edges = offsets_of(sizes)
    firsts = np.repeat(edges[offsets[:-1]], np.diff(offsets))
    return edges[:-1] - firsts, edges[1:] - firsts


def offsets_of(counts: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of several things begins that stand side by side, and where the last one ends.

    Args:
        counts: how long each of them is.

    >>> offsets_of([2, 0, 1]).tolist()
    [0, 2, 2, 3]
    """
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(np.asarray(counts, np.int64), out=offsets[1:])
    return offsets


def range_indices(firsts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The indices in several ranges of an array, one range after another.

    Args:
        firsts: where each range begins.
        counts: how long it is.

    >>> range_indices(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    edges = offsets_of(counts)
    return np.repeat(firsts - edges[:-1], counts) + np.arange(edges[-1])


def character_offsets(text: str) -> NDArray[np.int64]:
    """Where each character of a text begins in its UTF-8, and where the text ends.

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
    """Of each byte in the UTF-8 of a text that is not the first of its character the number of that character.

    So the character `n` begins at the byte `n + np.searchsorted(continuation_bytes(text), n)`, which takes less time
    than `character_offsets` where few are asked for.

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
    """The bytes of every id, to be had for many ids at once.

    Attributes:
        pieces: by id.
        data: the bytes of all ids, one after another.
        offsets: int64[ids + 1], where in them those of each id begin.
        sizes: int64[ids], how many each one has.
    """

    pieces: Sequence[bytes]
    data: bytes
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, pieces: Sequence[bytes]) -> PieceTable:
        """The table of pieces by id."""
        offsets = offsets_of(list(map(len, pieces)))
        return cls(pieces=pieces, data=b"".join(pieces), offsets=offsets, sizes=np.diff(offsets))

    def joined(self, ids: NDArray[np.uint32]) -> bytes:
        """The bytes of ids, one after another.

        >>> PieceTable.of([b"a", b"bc"]).joined(np.array([1, 0, 1], np.uint32))
        b'bcabc'
        """
        # In blocks: what is computed for each byte takes eight times as much memory.
        return b"".join(self._block(ids[first : first + _BLOCK]) for first in range(0, len(ids), _BLOCK))

    def _block(self, ids: NDArray[np.uint32]) -> bytes:
        places = range_indices(self.offsets[ids], self.sizes[ids])
        return bytes(np.frombuffer(self.data, np.uint8)[places])


class TiledSpans(EncodedSpans):
    """Tokens of the kind NORMAL whose bytes are those of their text, one after another.

    Their spans follow from that, and are computed when first used.

    >>> spans = TiledSpans(Encoded(np.array([1, 0, 1], np.uint32), np.array([0, 2, 3])), PieceTable.of([b"a", b"bc"]))
    >>> spans.starts.tolist(), spans.stops.tolist()
    ([0, 2, 0], [2, 3, 2])
    """

    def __init__(self, encoded: Encoded, pieces: PieceTable) -> None:
        """Tokens of texts.

        Args:
            encoded: their ids.
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
        """int64[N], where each token begins in its own text."""
        return self._bounds[0]

    @property
    def stops(self) -> NDArray[np.int64]:
        """int64[N], where it ends."""
        return self._bounds[1]

    @property
    def kinds(self) -> NDArray[np.uint8]:
        """uint8[N], all NORMAL."""
        return np.zeros(len(self.encoded.ids), np.uint8)
