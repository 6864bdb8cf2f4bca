"""Unigram as the SentencePiece library computes it, in Python: the reference for the kernel, and its fallback.

The best segmentation is found from left to right: of the pieces that end at a position, the one with the highest sum of
scores up to there is kept, and on a tie the longer piece. The sums are 32-bit floats over the whole text, so they
round. When the absolute value of a sum exceeds a limit, the sums restart at 0.

Source: unigram_model.cc of SentencePiece 0.2.3.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokbench.core.kernel_or_library import EncodesOneByOne
from tokbench.libraries.sentencepiece.normalization import CHARACTER_LENGTHS, Normalizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray


class Cut(NamedTuple):
    """A piece of a text: its byte range and its id."""

    start: int
    stop: int
    id: int


class ScoredPieces(NamedTuple):
    """The pieces of a model with their scores.

    Attributes:
        pieces: the bytes of each piece → its id and its score.
        unknown: the id of a character that is not a piece.
        unknown_score: the score of such a character.
        reset: the absolute value beyond which sums restart at 0.
    """

    pieces: Mapping[bytes, tuple[int, np.float32]]
    unknown: int
    unknown_score: np.float32
    reset: float = float("inf")


def best_cuts(text: bytes, vocabulary: ScoredPieces) -> list[Cut]:
    """Return the pieces of the best segmentation of a normalized text.

    >>> scores = {b"a": (1, np.float32(-1)), b"b": (2, np.float32(-1)), b"ab": (3, np.float32(-1.5))}
    >>> [cut.id for cut in best_cuts(b"aabx", ScoredPieces(scores, 0, np.float32(-11)))]
    [1, 3, 0]
    """
    longest = max(map(len, vocabulary.pieces), default=0)
    sums = [np.float32(0)] * (len(text) + 1)
    best: list[Cut | None] = [None] * (len(text) + 1)
    start = frontier = 0
    while start < len(text):
        if abs(sums[start]) > vocabulary.reset:
            offset = sums[start]
            for place in range(start, frontier + 1):
                if place == start or best[place] is not None:
                    sums[place] -= offset
        length = min(CHARACTER_LENGTHS[text[start]], len(text) - start)
        candidates = [
            (stop, *vocabulary.pieces[text[start:stop]])
            for stop in range(start + 1, min(start + longest, len(text)) + 1)
            if text[start:stop] in vocabulary.pieces
        ]
        if all(stop != start + length for stop, _, _ in candidates):
            candidates.append((start + length, vocabulary.unknown, vocabulary.unknown_score))
        for stop, id, score in candidates:
            frontier = max(frontier, stop)
            total = sums[start] + score
            if best[stop] is None or total > sums[stop]:
                sums[stop], best[stop] = total, Cut(start, stop, id)
        start += length
    cuts: list[Cut] = []
    stop = len(text)
    while stop > 0:
        cut = best[stop]
        assert cut is not None
        cuts.append(cut)
        stop = cut.start
    return cuts[::-1]


class Encoder(EncodesOneByOne):
    """The reference encoder; see `tokbench.core.kernel_or_library.KernelEncoder`.

    Args:
        pieces: the pieces that a text can contain.
        ids: uint32[len(pieces)].
        scores: float32[len(pieces)].
        unknown: the id of the unknown token.
        unknown_score: the score of a character that is not a piece.
        bytes: the ids of the 256 bytes, if unknown characters become bytes.
        reset: the absolute value beyond which sums of scores restart at 0.
        charsmap: the normalization table for `Normalizer`.
        symbols: the user-defined symbols for `Normalizer`.
        options: the options of `Normalizer`.

    Raises:
        ValueError: the arguments are not a valid model.
    """

    cut = "nowhere"
    """Where texts are cut into words: this encoder treats each text as one word."""
    words = doubtful_words = 0

    def __init__(
        self,
        pieces: Sequence[bytes],
        ids: NDArray[np.uint32],
        scores: NDArray[np.float32],
        *,
        unknown: int,
        unknown_score: float,
        bytes: NDArray[np.uint32] | None,
        reset: float,
        charsmap: bytes,
        symbols: list[bytes],
        **options: bool,
    ) -> None:
        if b"" in pieces or len(set(pieces)) != len(pieces):
            raise ValueError("a piece is empty, or occurs twice")
        self._vocabulary = ScoredPieces(
            dict(zip(pieces, zip(ids.tolist(), scores, strict=True), strict=True)),
            unknown,
            np.float32(unknown_score),
            reset,
        )
        self._bytes = None if bytes is None else bytes.tolist()
        self._normalizer = Normalizer(charsmap, symbols, **options)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        normal = self._normalizer.normalize(text.encode())
        return [id for ids in self._parts(normal) for id in ids]

    def _parts(self, normal: bytes) -> Iterator[list[int]]:
        """Yield the ids of runs of pieces, and of runs of unknown characters: their bytes, or one unknown token."""
        unknown = self._vocabulary.unknown
        cuts = best_cuts(normal, self._vocabulary)
        for is_unknown, run in groupby(cuts, lambda cut: cut.id == unknown):
            if not is_unknown:
                yield [cut.id for cut in run]
            elif self._bytes is not None:
                yield [self._bytes[byte] for cut in run for byte in normal[cut.start : cut.stop]]
            else:
                yield [unknown]
