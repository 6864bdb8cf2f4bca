"""Symbols, the units that algorithms work on, and merges of two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Symbol(NamedTuple):
    """A unit that an algorithm works on: a byte, a character or a token.

    Attributes:
        id: its id; None if it is not in the vocabulary.
        data: its display form: the bytes of a token, or the UTF-8 of a piece as its file spells it.
    """

    id: int | None
    data: bytes


@dataclass(frozen=True, slots=True)
class MergeRule:
    """A merge of a vocabulary.

    Attributes:
        rank: its rank, the lowest first; for a SentencePiece model, the negated score of the result.
        left: the left part.
        right: the right part.
        merged: the result.
        by_score: whether the rank is a negated score.
    """

    rank: float
    left: Symbol
    right: Symbol
    merged: Symbol
    by_score: bool = False
