"""Symbols (the units that algorithms work on), merges of two of them, and the causes of token boundaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tokbench.explain.pretokens import Alternative


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


@dataclass(frozen=True, slots=True)
class NoMerge:
    """No merge joins the two tokens; a merge of them at the end of the list would.

    Attributes:
        left: the token before the boundary.
        right: the token after it.
    """

    left: Symbol
    right: Symbol


@dataclass(frozen=True, slots=True)
class EarlierMerge:
    """A merge would have crossed the boundary, but merges of lower rank took its parts first.

    Attributes:
        lost: the prevented merge.
        by: the merges that took its parts; without them, there would be no boundary here.
    """

    lost: MergeRule
    by: tuple[MergeRule, ...]


@dataclass(frozen=True, slots=True)
class NoLongerPiece:
    """WordPiece took the longest match; no longer piece is in the vocabulary.

    Attributes:
        taken: the longest match.
        missing: spelling of the shortest piece that would be a longer match.
    """

    taken: Symbol
    missing: str


@dataclass(frozen=True, slots=True)
class LowerScore:
    """No segmentation without the boundary has a higher score.

    Attributes:
        margin: by how much the best of these scores is lower; 0 for a tie, None if no piece crosses the boundary.
        piece: its piece that crosses the boundary; None if no piece does.
        probability: probability of a boundary here over all segmentations.
    """

    margin: float | None
    piece: Symbol | None
    probability: float


@dataclass(frozen=True, slots=True)
class NewPreToken:
    """A pre-token begins, and no token crosses its boundary.

    Attributes:
        after: the alternative of the pattern that matched the pre-token after the boundary; None if unknown.
        splitter: what splits the text into pre-tokens, in words.
    """

    after: Alternative | None = None
    splitter: str = ""


@dataclass(frozen=True, slots=True)
class BesideAddedToken:
    """An added or special token is next to the boundary: texts are split at these before anything else."""

    token: str


@dataclass(frozen=True, slots=True)
class Fallback:
    """A character without its own token became byte tokens.

    Attributes:
        character: the character.
    """

    character: str


@dataclass(frozen=True, slots=True)
class ByDefinition:
    """The algorithm splits here regardless of the text.

    Attributes:
        rule: the rule in words.
    """

    rule: str


Cause = (
    NoMerge
    | EarlierMerge
    | NoLongerPiece
    | LowerScore
    | NewPreToken
    | BesideAddedToken
    | Fallback
    | ByDefinition
)
