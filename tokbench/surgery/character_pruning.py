"""Removing pieces from a BPE over characters, as SentencePiece's: leaf by leaf."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from tokbench.formats.sentencepiece.model import parse_model
from tokbench.surgery.character_merges import check_merges, merges_of_document, merges_of_model
from tokbench.surgery.leaves import choose_leaves
from tokbench.surgery.piece_pruning import PiecePruning

if TYPE_CHECKING:
    from collections.abc import Collection

    from tokbench.surgery.character_merges import CharacterMerges
    from tokbench.surgery.contents import Algorithm, Content
    from tokbench.surgery.id_map import IdMap
    from tokbench.surgery.leaves import Removal
    from tokbench.surgery.token_usage import TokenUsage


@dataclass(frozen=True)
class CharacterPruning(PiecePruning):
    """A BPE over characters from which pieces are to go."""

    algorithm: ClassVar[Algorithm] = "character_bpe"

    @cached_property
    def vocabulary(self) -> CharacterMerges:
        """Its pieces. Raises `ConversionError`."""
        return self._merges(self.content)

    def choose(
        self, usage: TokenUsage, *, selected: Collection[int], size: int | None, min_count: int | None
    ) -> Removal:
        """The leaves that go."""
        return choose_leaves(
            self.vocabulary.parts,
            frequencies=usage.frequencies,
            selected=selected,
            size=size,
            min_count=min_count,
        )

    def check(self, changed: Content, id_map: IdMap) -> int:
        """How many pieces are merged of the same two."""
        return check_merges(self.vocabulary, self._merges(changed), id_map)

    def _merges(self, content: Content) -> CharacterMerges:
        if isinstance(content, bytes):
            return merges_of_model(parse_model(content))
        return merges_of_document(content, path=self.opened.source.path)
