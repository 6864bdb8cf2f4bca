"""Pieces of a Unigram that only hold places: no text becomes them, and no other one changes by them."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING

from tokbench.errors import SurgeryError
from tokbench.surgery.piece_learning import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.surgery.growing_pieces import ScoredGrowing

_BELOW = 1.0
"""Far more than sums are rounded by."""


def unused_score(texts: Iterable[str], pieces: ScoredGrowing) -> float:
    """A score with which texts can be pieces, and no text becomes them.

    It is below the sum of what each is cut into. Unknown characters are worth less than the lowest score of all: a text
    with one would become the piece. Where every character of the old pieces is a piece, nothing else changes by what
    unknown ones are worth: however old pieces cut a text, it has as many of them.

    Args:
        texts: they.
        pieces: all others.

    Raises:
        SurgeryError: no score is low enough, as a character is no piece.

    >>> from tokbench.surgery.growing_pieces import ScoredGrowing
    >>> unused_score(["[A]"], ScoredGrowing({"[": -2.0, "A": -3.0, "]": -2.5}))
    -9.0
    """
    for piece in pieces.scores.keys() - pieces.new.keys():
        unknown = next((character for character in piece if character not in pieces.scores), None)
        if unknown is not None:
            raise _no_place(
                f"one that holds its place has a low score, by which unknown characters would be worth less, and text "
                f"could be cut otherwise where {unknown!r} is, which is in the piece {piece!r} and none itself"
            )
    lowest = min(pieces.scores.values())
    for text in texts:
        parts = pieces.cut(text)
        unknown = next((part[1:] for part in parts if part[0] == UNKNOWN), None)
        if unknown is not None:
            raise _no_place(
                f"{text!r} would have to be a piece, and ordinary text would become it, as its character {unknown!r} "
                "is none",
                hint=f"learn from text with {unknown!r}, so that it becomes one, or add special tokens alone",
            )
        lowest = min(lowest, pieces.sum(parts))
    return floor(lowest) - _BELOW


def _no_place(why: str, *, hint: str = "tokens can only be added to it as special ones") -> SurgeryError:
    return SurgeryError(
        f"the pieces of a Unigram are numbered by their places, and added tokens have the ids behind them: {why}",
        hint=hint,
    )
