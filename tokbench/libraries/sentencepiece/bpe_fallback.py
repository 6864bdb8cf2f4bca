"""BPE over characters as the SentencePiece library computes it, in Python: the reference for the kernel.

A normalized text is split into its user-defined symbols, which never merge, and its characters. Adjacent symbols that
spell a piece are merged, the pair with the highest score first, and of equal scores the leftmost pair. An unused piece
is split into its parts again. A symbol that is not a piece in the end is unknown: it becomes its bytes, or a run of
such symbols becomes one unknown token.

Source: bpe_model.cc of SentencePiece 0.2.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.kernel_or_library import EncodesOneByOne
from tokbench.core.merging import merge_symbols
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.libraries.sentencepiece.normalization import CHARACTER_LENGTHS, Normalizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

_MOST_NESTED_SYMBOLS = 64
_MERGED = (PieceType.NORMAL, PieceType.UNUSED)
_TOKENS = (PieceType.NORMAL, PieceType.USER_DEFINED)


class UserDefined(bytes):
    """A user-defined symbol in a text, which never merges."""

    __slots__ = ()


def merged(symbols: Sequence[bytes], scores: Mapping[bytes, float]) -> list[bytes]:
    """Merge symbols until no adjacent pair spells a piece.

    Args:
        symbols: the initial symbols.
        scores: the pieces that merges may create → their scores.

    >>> merged([b"a", b"b", b"a", b"b"], {b"ab": -1.0, b"ba": -2.0})
    [b'ab', b'ab']
    """

    def merge_of(pair: tuple[bytes, bytes]) -> tuple[float, bytes] | None:
        both = b"".join(pair)
        return None if both not in scores or UserDefined in map(type, pair) else (-scores[both], both)

    return merge_symbols(symbols, merge_of)


class Encoder(EncodesOneByOne):
    """The reference encoder; see `tokbench.core.kernel_or_library.KernelEncoder`.

    Args:
        pieces: the pieces; the index of each is its id.
        scores: float32[len(pieces)].
        kinds: uint8[len(pieces)], values of `PieceType`.
        unknown: the id of the unknown token.
        byte_ids: the ids of the 256 bytes, if unknown characters become bytes.
        charsmap: the normalization table for `Normalizer`.
        options: the options of `Normalizer`.

    Raises:
        ValueError: the arguments are not a valid model.
    """

    def __init__(
        self,
        pieces: Sequence[bytes],
        scores: NDArray[np.float32],
        kinds: NDArray[np.uint8],
        *,
        unknown: int,
        byte_ids: NDArray[np.uint32] | None,
        charsmap: bytes,
        **options: bool,
    ) -> None:
        if b"" in pieces or not len(pieces) == len(scores) == len(kinds):
            raise ValueError("a piece is empty, or has no score")
        types = [PieceType(int(kind)) for kind in kinds]
        self._scores = {
            piece: float(score)
            for piece, score, type in zip(pieces, scores, types, strict=True)
            if type in _MERGED
        }
        self._ids = {piece: id for id, piece in enumerate(pieces) if types[id] in _TOKENS}
        self._unused = {piece for id, piece in enumerate(pieces) if types[id] is PieceType.UNUSED}
        symbols = [piece for id, piece in enumerate(pieces) if types[id] is PieceType.USER_DEFINED]
        self._symbols = sorted(symbols, key=len)
        self._unknown = unknown
        self._bytes = None if byte_ids is None else byte_ids.tolist()
        self._normalizer = Normalizer(charsmap, symbols, **options)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        ids: list[int] = []
        is_after_unknown = False
        for part in self._parts(self._normalizer.normalize(text.encode())):
            id = self._ids.get(part)
            if id is not None:
                ids.append(id)
            elif self._bytes is not None:
                ids += [self._bytes[byte] for byte in part]
            elif not is_after_unknown:
                ids.append(self._unknown)
            is_after_unknown = id is None
        return ids

    def _parts(self, normal: bytes) -> Iterator[bytes]:
        """Yield the pieces of a normalized text, and its unknown symbols."""
        symbols: list[bytes] = []
        place = 0
        while place < len(normal):
            nested = [symbol for symbol in self._symbols if normal.startswith(symbol, place)]
            if nested:
                symbols.append(UserDefined(nested[:_MOST_NESTED_SYMBOLS][-1]))
            else:
                symbols.append(normal[place : place + CHARACTER_LENGTHS[normal[place]]])
            place += len(symbols[-1])
        for part in merged(symbols, self._scores):
            yield from self._split_unused(part)

    def _split_unused(self, part: bytes) -> Iterator[bytes]:
        """Yield a used piece, or the parts of an unused one; only one pair of symbols can spell it."""
        text = part.decode() if part in self._unused else ""
        for i in range(1, len(text)):
            left, right = text[:i].encode(), text[i:].encode()
            if all(len(half) == CHARACTER_LENGTHS[half[0]] or half in self._scores for half in (left, right)):
                yield from self._split_unused(left)
                yield from self._split_unused(right)
                return
        yield part
