"""What an algorithm works on, and a merge of two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Symbol(NamedTuple):
    """What an algorithm works on: bytes, characters, tokens.

    Attributes:
        id: its id; None where the vocabulary does not have it.
        data: how it is shown: the bytes of a token, or the UTF-8 of a piece as its file spells it.
    """

    id: int | None
    data: bytes


@dataclass(frozen=True, slots=True)
class MergeRule:
    """A merge of a vocabulary.

    Attributes:
        rank: the lowest is merged first; a SentencePiece model has scores, and the rank is the negative score.
        left: what stands on the left.
        right: what stands on the right.
        made: what they become.
        by_score: whether the rank is a score.
    """

    rank: float
    left: Symbol
    right: Symbol
    made: Symbol
    by_score: bool = False
