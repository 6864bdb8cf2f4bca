"""Causes of token boundaries, with a class for each kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokbench.explain.pretokens import Alternative
    from tokbench.explain.symbols import MergeRule, Symbol


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
