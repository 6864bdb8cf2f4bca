"""Random segmentations by the textbook, the same for a seed on every machine.

The library samples too, with a generator that belongs to the thread and cannot be set again, so
that its samples cannot be repeated. What is here needs only the pieces and their scores.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.core.merging import merge_symbols
from tokbench.formats.sentencepiece.model import iter_user_defined
from tokbench.formats.sentencepiece.pieces import PieceType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.formats.sentencepiece.model import SentencePieceFile

_UNKNOWN_PENALTY = 10.0
"""How much less probable than the rarest piece Unigram takes an unknown character for."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The pieces that a text can be made of, and what becomes of a character that is none.

    Attributes:
        scores: piece → score, of what can be found in a text; unused pieces too.
        unused: pieces that are merged through and never stay.
        user_defined: finds the user-defined symbols, the longest first; None where there are none.
        longest: characters of the longest piece.
        unknown_score: of a character that is not a piece.
    """

    scores: Mapping[str, float]
    unused: frozenset[str]
    user_defined: re.Pattern[str] | None
    longest: int
    unknown_score: float
    _ids: Mapping[str, int]
    _byte_ids: tuple[int, ...]
    _unknown_id: int

    @classmethod
    def of(cls, model: SentencePieceFile) -> Lexicon:
        """The lexicon of a model."""
        normal = [piece.score for piece in model.pieces if piece.type is PieceType.NORMAL] or [0.0]
        symbols = sorted(iter_user_defined(model), key=len, reverse=True)
        scores: dict[str, float] = {}
        for piece in model.pieces:
            if piece.type is PieceType.USER_DEFINED:
                # As the library has it: better than any way to make it of other pieces.
                scores[piece.text] = len(piece.text.encode()) * max(normal) - 0.1
            elif piece.type in (PieceType.NORMAL, PieceType.UNUSED):
                scores[piece.text] = piece.score
        ids = {piece.text: id for id, piece in enumerate(model.pieces)}
        falls_back = model.trainer["byte_fallback"]
        return cls(
            scores=scores,
            unused=frozenset(piece.text for piece in model.pieces if piece.type is PieceType.UNUSED),
            user_defined=re.compile("|".join(map(re.escape, symbols))) if symbols else None,
            longest=max(map(len, scores), default=1),
            unknown_score=min(normal) - _UNKNOWN_PENALTY,
            _ids={text: ids[text] for text in scores},
            _byte_ids=tuple(ids[f"<0x{byte:02X}>"] for byte in range(256)) if falls_back else (),
            _unknown_id=next(id for id, p in enumerate(model.pieces) if p.type is PieceType.UNKNOWN),
        )

    def ids(self, pieces: Sequence[str]) -> list[int]:
        """The ids of pieces; what is none becomes its bytes, or one unknown piece for all side by side."""
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

    def candidates(self, text: str, start: int) -> list[tuple[int, float]]:
        """(stop, score) of every piece that begins at a character; an unknown one where no piece has its length."""
        found = [
            (stop, self.scores[piece])
            for stop in range(start + 1, min(start + self.longest, len(text)) + 1)
            if (piece := text[start:stop]) in self.scores and piece not in self.unused
        ]
        if not found or found[0][0] != start + 1:
            found.append((start + 1, self.unknown_score))
        return found


def unigram_sample(text: str, lexicon: Lexicon, *, alpha: float, seed: int) -> list[str]:
    """A segmentation with a probability proportional to that of its pieces to the power `alpha`.

    Forward, the weight of all ways to reach each character is summed up; backward, from the end, a
    piece is drawn by its share in what reaches the place where it stops.

    Args:
        text: as the model's normalizer leaves it.
        lexicon: the pieces.
        alpha: 0 draws all segmentations alike.
        seed: of the generator.

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
        start, _ = incoming[stop][_drawn([weight for _, weight in incoming[stop]], generator)]
        pieces.append(text[start:stop])
        stop = start
    return pieces[::-1]


def bpe_dropout(text: str, lexicon: Lexicon, *, dropout: float, seed: int) -> list[str]:
    """The pieces of BPE where each merge, when its turn comes, is left out with a probability.

    With 0 it is what the model gives: of all neighbours that together are a piece, those of the
    highest score are merged first, and of equal ones the leftmost.

    Args:
        text: as the model's normalizer leaves it.
        lexicon: the pieces.
        dropout: from 0 to 1.
        seed: of the generator.

    Source: Provilkov et al. 2020, "BPE-Dropout", algorithm 1, in the library's form: a merge that was
        left out is not tried again until one of its neighbours has changed.
    """
    generator = random.Random(seed)  # noqa: S311 -- segmentations, not secrets
    made_of: dict[str, tuple[str, str]] = {}

    def merge_of(pair: tuple[str, str]) -> tuple[float, str] | None:
        left, right = pair
        merged = left + right
        if merged not in lexicon.scores or _UserDefined in (type(left), type(right)):
            return None
        if merged in lexicon.unused:
            made_of[merged] = pair
        return -lexicon.scores[merged], merged

    symbols = merge_symbols(
        _symbols(text, lexicon), merge_of, is_dropped=lambda: generator.random() < dropout, retries=False
    )
    return [piece for symbol in symbols for piece in _unmerged(symbol, made_of)]


def sampled_index(scores: Sequence[float], *, seed: int) -> int:
    """An index drawn with a probability proportional to e to the power of its score."""
    return _drawn(scores, random.Random(seed))  # noqa: S311 -- segmentations, not secrets


class _UserDefined(str):
    """A user-defined symbol in a text: nothing merges with it."""

    __slots__ = ()


def _symbols(text: str, lexicon: Lexicon) -> list[str]:
    """The characters of a text, and its user-defined symbols."""
    symbols: list[str] = []
    position = 0
    for match in lexicon.user_defined.finditer(text) if lexicon.user_defined else ():
        symbols += [*text[position : match.start()], _UserDefined(match.group())]
        position = match.end()
    return [*symbols, *text[position:]]


def _unmerged(symbol: str, made_of: Mapping[str, tuple[str, str]]) -> list[str]:
    """An unused piece as the two that it was merged of, and so on down."""
    if symbol not in made_of:
        return [symbol]
    left, right = made_of[symbol]
    return _unmerged(left, made_of) + _unmerged(right, made_of)


def _log_sum(weights: Sequence[float]) -> float:
    """The logarithm of the sum of what the weights are logarithms of."""
    largest = max(weights)
    return largest + math.log(math.fsum(math.exp(weight - largest) for weight in weights))


def _drawn(weights: Sequence[float], generator: random.Random) -> int:
    """An index with a probability proportional to e to the power of its weight."""
    largest = max(weights)
    return generator.choices(range(len(weights)), [math.exp(weight - largest) for weight in weights])[0]
