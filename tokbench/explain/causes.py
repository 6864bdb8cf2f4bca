"""Why a boundary is there: one class for each kind of cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokbench.explain.pretokens import Alternative
    from tokbench.explain.symbols import MergeRule, Symbol


@dataclass(frozen=True, slots=True)
class NoMerge:
    """No merge joins the two tokens; with one, as the last of all, they would be joined.

    Attributes:
        left: the token before the boundary.
        right: the token after it.
    """

    left: Symbol
    right: Symbol


@dataclass(frozen=True, slots=True)
class EarlierMerge:
    """A merge would have crossed the boundary, and others of lower rank took its parts before its turn.

    Attributes:
        lost: the merge that did not come to its turn.
        by: the merges that took its parts; without all of them there would be no boundary here.
    """

    lost: MergeRule
    by: tuple[MergeRule, ...]


@dataclass(frozen=True, slots=True)
class NoLongerPiece:
    """WordPiece took the longest piece that was there; a longer one is not in the vocabulary.

    Attributes:
        taken: the longest match.
        missing: the spelling of the shortest piece that would have reached further.
    """

    taken: Symbol
    missing: str


@dataclass(frozen=True, slots=True)
class LowerScore:
    """Every segmentation without the boundary has a lower score.

    Attributes:
        margin: how much the best of them lacks; 0 for a tie.
        piece: the piece of that one that crosses the boundary; None where no piece does.
        probability: of a boundary here, over all segmentations.
    """

    margin: float | None
    piece: Symbol | None
    probability: float


@dataclass(frozen=True, slots=True)
class NewPreToken:
    """A pre-token begins: nothing is merged across.

    Attributes:
        after: the alternative of the pattern that made the pre-token after the boundary, if it is known.
        splitter: what made the pre-tokens, in words.
    """

    after: Alternative | None = None
    splitter: str = ""


@dataclass(frozen=True, slots=True)
class BesideAddedToken:
    """An added or special token stands beside the boundary: texts are cut at these before anything else."""

    token: str


@dataclass(frozen=True, slots=True)
class Fallback:
    """A character without a token of its own became its bytes.

    Attributes:
        character: the character.
    """

    character: str


@dataclass(frozen=True, slots=True)
class ByDefinition:
    """The algorithm cuts here whatever the text.

    Attributes:
        rule: what it does, in words.
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
