"""Reproducible random segmentations, the same for a seed on every machine.

The library's own samples cannot be repeated, as its generator belongs to the thread and cannot be
reset. This module needs only the pieces and their scores.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.core.merging import merge_symbols
from tokbench.formats.sentencepiece.model import iter_user_defined
from tokbench.formats.sentencepiece.pieces import BYTE_PIECES, PieceType
from tokbench.formats.sentencepiece.symbols import pattern_of
from tokbench.formats.sentencepiece.unigram_scores import UNKNOWN_PENALTY, symbol_score

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tokbench.formats.sentencepiece.model import SentencePieceFile


class UserDefined(str):
    """A user-defined symbol in a text, which never merges."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The pieces that a text can contain, and the treatment of unknown characters.

    Attributes:
        scores: piece → score of the pieces that a text can contain, including unused pieces.
        unused: pieces that merges pass through, but that are never tokens.
        user_defined: a pattern of the user-defined symbols, the longest first; None if there are none.
        longest: the first two characters of pieces → the length of the longest of them in characters.
        unknown_score: the score of a character that is not a piece.
    """

    scores: Mapping[str, float]
    unused: frozenset[str]
    user_defined: re.Pattern[str] | None
    longest: Mapping[str, int]
    unknown_score: float
    _ids: Mapping[str, int]
    _byte_ids: tuple[int, ...]
    _unknown_id: int

    @classmethod
    def of(cls, model: SentencePieceFile) -> Lexicon:
        """Build the lexicon of a model."""
        normal = [piece.score for piece in model.pieces if piece.type is PieceType.NORMAL] or [0.0]
        symbols = list(iter_user_defined(model))
        scores: dict[str, float] = {}
        for piece in model.pieces:
            if piece.type is PieceType.USER_DEFINED:
                scores[piece.text] = symbol_score(piece.text, sampled=True)
            elif piece.type in (PieceType.NORMAL, PieceType.UNUSED):
                scores[piece.text] = piece.score
        ids = {piece.text: id for id, piece in enumerate(model.pieces)}
        unused = frozenset(piece.text for piece in model.pieces if piece.type is PieceType.UNUSED)
        falls_back = model.trainer["byte_fallback"]
        return cls(
            scores=scores,
            unused=unused,
            user_defined=re.compile(pattern_of(symbols)) if symbols else None,
            longest=_longest_by_beginning(scores),
            unknown_score=min(normal) - UNKNOWN_PENALTY,
            _ids={text: ids[text] for text in scores if text not in unused},
            _byte_ids=tuple(ids[piece] for piece in BYTE_PIECES) if falls_back else (),
            _unknown_id=model.unknown_id,
        )

    def ids(self, pieces: Sequence[str]) -> list[int]:
        """Return the ids of pieces; an unknown piece becomes its bytes, or a run of them becomes one unknown token."""
        ids: list[int] = []
        after_unknown = False
        for piece in pieces:
            id = self._ids.get(piece)
            if id is not None:
                ids.append(id)
            elif self._byte_ids:
                ids.extend(self._byte_ids[byte] for byte in piece.encode())
            elif not after_unknown:
                ids.append(self._unknown_id)
            after_unknown = id is None
        return ids

    def is_token(self, piece: str) -> bool:
        """Whether a text can have this piece as a token."""
        return piece in self.scores and piece not in self.unused

    def symbols(self, text: str) -> list[str]:
        """Split a text into its user-defined symbols and characters."""
        symbols: list[str] = []
        position = 0
        for match in self.user_defined.finditer(text) if self.user_defined else ():
            symbols += [*text[position : match.start()], UserDefined(match.group())]
            position = match.end()
        return [*symbols, *text[position:]]

    def candidates(self, text: str, start: int) -> list[tuple[int, float]]:
        """Return (stop, score) of every piece that begins at a position, or of the character if it is no piece."""
        pieces = [
            (stop, self.scores[piece])
            for stop in range(start + 1, self._furthest(text, start) + 1)
            if self.is_token(piece := text[start:stop])
        ]
        if not pieces or pieces[0][0] != start + 1:
            pieces.append((start + 1, self.unknown_score))
        return pieces

    def reach(self, text: str, start: int) -> int:
        """Return the end of the longest piece that begins at a position, or of its character if none is longer."""
        for stop in range(self._furthest(text, start), start + 1, -1):
            if self.is_token(text[start:stop]):
                return stop
        return start + 1

    def _furthest(self, text: str, start: int) -> int:
        """Return a position beyond which no piece reaches that begins at a position."""
        return min(start + self.longest.get(text[start : start + 2], 1), len(text))


def _longest_by_beginning(pieces: Iterable[str]) -> dict[str, int]:
    longest: dict[str, int] = {}
    for piece in pieces:
        beginning = piece[:2]
        if len(piece) > longest.get(beginning, 0):
            longest[beginning] = len(piece)
    return longest


def unigram_sample(text: str, lexicon: Lexicon, *, alpha: float, seed: int) -> list[str]:
    """Draw a segmentation with a probability proportional to that of its pieces to the power `alpha`.

    The forward pass sums the weights of all segmentations up to each character; the backward pass draws
    pieces from the end, each by its share in the sum at the position where it stops.

    Args:
        text: the normalized text.
        lexicon: the pieces.
        alpha: the exponent; 0 gives all segmentations the same probability.
        seed: the seed of the generator.

    Source: Kudo 2018, "Subword Regularization", section 3.3; Scott 2002 for the two passes.
    """
    incoming: list[list[tuple[int, float]]] = [[] for _ in range(len(text) + 1)]
    reach = [0.0] * (len(text) + 1)
    for start in range(len(text)):
        if start:
            reach[start] = _log_sum([weight for _, weight in incoming[start]])
        for stop, score in lexicon.candidates(text, start):
            incoming[stop].append((start, reach[start] + alpha * score))
    generator = random.Random(seed)  # noqa: S311 -- segmentations, not secrets
    pieces: list[str] = []
    stop = len(text)
    while stop:
        start, _ = incoming[stop][_draw([weight for _, weight in incoming[stop]], generator)]
        pieces.append(text[start:stop])
        stop = start
    return pieces[::-1]


def bpe_dropout(text: str, lexicon: Lexicon, *, dropout: float, seed: int) -> list[str]:
    """Return the pieces of a BPE that drops each merge, when its turn comes, with a probability.

    With a probability of 0 the result is that of the model: the adjacent pair that spells the piece
    with the highest score merges first, and of equal scores the leftmost pair.

    Args:
        text: the normalized text.
        lexicon: the pieces.
        dropout: the probability, from 0 to 1.
        seed: the seed of the generator.

    Source: Provilkov et al. 2020, "BPE-Dropout", algorithm 1, in the library's form: a dropped merge
        is not tried again until one of its symbols has changed.
    """
    generator = random.Random(seed)  # noqa: S311 -- segmentations, not secrets
    merged_from: dict[str, tuple[str, str]] = {}

    def merge_of(pair: tuple[str, str]) -> tuple[float, str] | None:
        left, right = pair
        merged = left + right
        if merged not in lexicon.scores or UserDefined in (type(left), type(right)):
            return None
        if merged in lexicon.unused:
            merged_from[merged] = pair
        return -lexicon.scores[merged], merged

    symbols = merge_symbols(
        lexicon.symbols(text), merge_of, is_dropped=lambda: generator.random() < dropout, retries=False
    )
    return [piece for symbol in symbols for piece in _unmerged(symbol, merged_from)]


def sampled_index(scores: Sequence[float], *, seed: int) -> int:
    """Draw an index with a probability proportional to e to the power of its score."""
    return _draw(scores, random.Random(seed))  # noqa: S311 -- segmentations, not secrets


def _unmerged(symbol: str, merged_from: Mapping[str, tuple[str, str]]) -> list[str]:
    """Split an unused piece recursively into the symbols from which it was merged."""
    if symbol not in merged_from:
        return [symbol]
    left, right = merged_from[symbol]
    return _unmerged(left, merged_from) + _unmerged(right, merged_from)


def _log_sum(weights: Sequence[float]) -> float:
    """Return the logarithm of the sum of the exponentials of the weights."""
    largest = max(weights)
    return largest + math.log(math.fsum(math.exp(weight - largest) for weight in weights))


def _draw(weights: Sequence[float], generator: random.Random) -> int:
    """Draw an index with a probability proportional to e to the power of its weight."""
    largest = max(weights)
    return generator.choices(range(len(weights)), [math.exp(weight - largest) for weight in weights])[0]
