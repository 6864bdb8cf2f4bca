"""What is known of each token, and why one cannot occur."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class Cause(StrEnum):
    """Why no text encodes to a token."""

    MERGE_ORDER = "merge-order"
    """An earlier merge takes one of its parts."""
    NO_MERGE = "no-merge"
    """No merge makes it, or one of its parts."""
    PATTERN = "pattern"
    """The split pattern never leaves it in one pre-token."""
    NORMALIZER = "normalizer"
    """The normalizer never gives its text."""
    ADDED_TOKEN = "added-token"  # noqa: S105 -- a token of texts
    """An added token is found inside it first."""
    NOT_TEXT = "not-text"
    """No text has its bytes."""
    BETTER_PARTS = "better-parts"
    """Unigram: its parts together have a higher score."""
    LONGER_MATCH = "longer-match"
    """WordPiece: whatever stands before it is matched together with its beginning."""


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A token that no text encodes to.

    Attributes:
        id: the token.
        cause: why.
        evidence: what shows it, in a sentence without a full stop.
        details: the same as plain data.
    """

    id: int
    cause: Cause
    evidence: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reachability:
    """What is known of every token that is not an added one.

    Attributes:
        witnesses: reachable id → a text whose ids have it.
        unreachable: id → why.
        by_design: id → why, where that is not a fault: a byte that no text has, or that has a piece of its own.
        undecided: ids of which neither is known.
        changed_alone: tokens whose own text, encoded alone, gives other ids: those among the reachable are what
            the usual check by re-encoding reports wrongly.
    """

    witnesses: Mapping[int, str]
    unreachable: Mapping[int, Unreachable]
    by_design: Mapping[int, str]
    undecided: tuple[int, ...]
    changed_alone: frozenset[int]

    def verdict(self, id: int) -> dict[str, Any]:
        """What is known of one token, as plain data: a line of `lint --verdicts`."""
        if id in self.witnesses:
            return {"id": id, "verdict": "reachable", "witness": self.witnesses[id]}
        if id in self.by_design:
            return {"id": id, "verdict": "by design", "reason": self.by_design[id]}
        if (found := self.unreachable.get(id)) is not None:
            return {"id": id, "verdict": "unreachable", "cause": found.cause.value, "reason": found.evidence}
        return {"id": id, "verdict": "undecided"}

    @property
    def ids(self) -> list[int]:
        """Every token of which something is said."""
        return sorted({*self.witnesses, *self.unreachable, *self.by_design, *self.undecided})

    @property
    def only_in_context(self) -> int:
        """How many reachable tokens do not come of their own text alone: re-encoding each token reports them."""
        return len(self.changed_alone & self.witnesses.keys())
