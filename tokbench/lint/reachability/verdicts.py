"""Verdicts on the reachability of tokens, with the causes of unreachable ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class Cause(StrEnum):
    """The cause why no text encodes to a token."""

    MERGE_ORDER = "merge-order"
    """An earlier merge uses a part of the token."""
    NO_MERGE = "no-merge"
    """No merge produces the token or one of its parts."""
    PATTERN = "pattern"
    """The split pattern never keeps the token in one pre-token."""
    NORMALIZER = "normalizer"
    """The normalizer never produces the token's text."""
    ADDED_TOKEN = "added-token"  # noqa: S105 -- a token of texts
    """An added token matches first inside the token."""
    NOT_TEXT = "not-text"
    """No valid text contains the token's bytes."""
    BETTER_PARTS = "better-parts"
    """Unigram: other pieces for the same text have a higher sum of scores."""
    LONGER_MATCH = "longer-match"
    """WordPiece: a longer match always includes the beginning of the token, or words of its length are unknown."""


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A token that no text encodes to.

    Attributes:
        id: id of the token.
        cause: the cause.
        evidence: the proof in a sentence without a full stop.
        details: the proof as plain data.
    """

    id: int
    cause: Cause
    evidence: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reachability:
    """The verdicts on all tokens that are not added tokens.

    Attributes:
        witnesses: reachable id → a text whose ids contain it.
        unreachable: id → the proof.
        by_design: id → purpose of a token whose absence is not a fault, such as a byte that never occurs in text.
        undecided: ids without a witness or a proof.
        changed_alone: ids that decoding and re-encoding alone does not reproduce; the usual check by re-encoding
            wrongly reports the reachable ones among them.
    """

    witnesses: Mapping[int, str]
    unreachable: Mapping[int, Unreachable]
    by_design: Mapping[int, str]
    undecided: tuple[int, ...]
    changed_alone: frozenset[int]

    def verdict(self, id: int) -> dict[str, Any]:
        """Return the verdict on one token as plain data, a line of `lint --verdicts`."""
        if id in self.witnesses:
            return {"id": id, "verdict": "reachable", "witness": self.witnesses[id]}
        if id in self.by_design:
            return {"id": id, "verdict": "by design", "reason": self.by_design[id]}
        if (found := self.unreachable.get(id)) is not None:
            return {"id": id, "verdict": "unreachable", "cause": found.cause.value, "reason": found.evidence}
        return {"id": id, "verdict": "undecided"}

    @property
    def ids(self) -> list[int]:
        """Sorted ids of all tokens with a verdict."""
        return sorted({*self.witnesses, *self.unreachable, *self.by_design, *self.undecided})

    @property
    def only_in_context(self) -> int:
        """Number of reachable tokens that their own text alone does not encode to, as re-encoding would report."""
        return len(self.changed_alone & self.witnesses.keys())
