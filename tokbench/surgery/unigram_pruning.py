"""Removing pieces from a Unigram, by loss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from tokbench.formats.sentencepiece.model import parse_model
from tokbench.surgery.piece_losses import choose_pieces
from tokbench.surgery.piece_pruning import PiecePruning
from tokbench.surgery.scored_pieces import check_scores, pieces_of_document, pieces_of_model

if TYPE_CHECKING:
    from collections.abc import Collection

    from tokbench.surgery.contents import Algorithm, Content
    from tokbench.surgery.id_map import IdMap
    from tokbench.surgery.leaves import Removal
    from tokbench.surgery.scored_pieces import ScoredPieces
    from tokbench.surgery.token_usage import TokenUsage


@dataclass(frozen=True)
class UnigramPruning(PiecePruning):
    """A Unigram from which pieces are to go."""

    algorithm: ClassVar[Algorithm] = "unigram"

    @cached_property
    def vocabulary(self) -> ScoredPieces:
        """Its pieces."""
        return _pieces(self.content)

    def choose(
        self, usage: TokenUsage, *, selected: Collection[int], size: int | None, min_count: int | None
    ) -> Removal:
        """The pieces that go, by loss."""
        return choose_pieces(
            self.vocabulary,
            frequencies=usage.frequencies,
            selected=selected,
            size=size,
            min_count=min_count,
        )

    def check(self, changed: Content, id_map: IdMap) -> int:
        """How many pieces keep their scores."""
        return check_scores(self.vocabulary, _pieces(changed), id_map)


def _pieces(content: Content) -> ScoredPieces:
    return (
        pieces_of_model(parse_model(content)) if isinstance(content, bytes) else pieces_of_document(content)
    )
