"""Addition of pieces to a BPE over characters, such as SentencePiece's: further merges after the existing ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.opening.native_bpe import merge_pairs
from tokbench.surgery.character_merges import merged_texts
from tokbench.surgery.documents import extended_document, scores_below
from tokbench.surgery.growing_pieces import MergedPieces, by_pair, by_text
from tokbench.surgery.piece_extension import PieceExtension
from tokbench.surgery.piece_learning import PieceLearner
from tokbench.surgery.piece_words import normalizer_of, words_of_document, words_of_model
from tokbench.surgery.proofs import Coarser

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer
    from tokbench.surgery.contents import Algorithm, Content
    from tokbench.surgery.piece_words import PieceWords


@dataclass
class CharacterExtension(PieceExtension[MergedPieces]):
    """A BPE over characters to extend."""

    algorithm: ClassVar[Algorithm] = "character_bpe"

    @cached_property
    def words(self) -> PieceWords:
        """Its splitting of text into words."""
        if isinstance(self.content, bytes) and self.model is not None:
            return words_of_model(self.model, normalizer_of(self.content))
        return words_of_document(self.document, self._texts)

    def new_pieces(self) -> MergedPieces:
        """Return its pieces without any new ones."""
        if self.model is not None:
            scores = {piece.text: -piece.score for piece in self._merged}
            return MergedPieces(scores, by_text(scores))
        return MergedPieces(self._texts, by_pair({pair: rank for rank, pair in enumerate(self._pairs)}))

    @property
    def deciding(self) -> Sequence[Any]:
        """Its pieces with their scores, or its merges."""
        return self._pairs if self.model is None else self.model.pieces

    def take(self, words: Sequence[str]) -> list[str]:
        """Add the pieces that merging the words requires, and return them."""
        learner = PieceLearner(
            self.pieces,
            Counter(words),
            min_frequency=1,
            may_be_piece=lambda text: text not in self.words.taken,
        )
        return learner.learn(None)

    def appended(self, special_tokens: Mapping[str, int]) -> Content:
        """Append new pieces with scores below all others, or with merges after all others."""
        pieces = self.new_ids
        if self.model is not None:
            scores = scores_below(self.model.pieces, number=len(pieces))
            found = zip(pieces, scores, strict=True)
            new = [ModelPiece(text, score, PieceType.NORMAL) for text, score in found]
            return self.extended_model(new, special_tokens)
        parts = self.pieces.parts
        merges = [parts[text] for text in pieces if text in parts]
        return extended_document(self.document, pieces, merges=merges, special_tokens=special_tokens)

    def rule(self, new: Tokenizer) -> Coarser:
        """Return the rule that texts have no new token boundaries."""
        return Coarser(self.opened.tokenizer, new, unknown=self.unknown_id)

    @property
    def _merged(self) -> list[ModelPiece]:
        pieces = () if self.model is None else self.model.pieces
        return [piece for piece in pieces if piece.type in (PieceType.NORMAL, PieceType.UNUSED)]

    @cached_property
    def _texts(self) -> list[str]:
        return list(merged_texts(self.document).values())

    @cached_property
    def _pairs(self) -> list[tuple[str, str]]:
        return list(merge_pairs(self.document["model"], path=self.opened.source.path))
