"""Addition of pieces to a Unigram, by how much they raise the likelihood of a text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import floor
from typing import TYPE_CHECKING, Any, ClassVar

from tokbench.errors import SurgeryError
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.surgery.documents import added_outside, extended_document
from tokbench.surgery.growing_pieces import ScoredGrowing
from tokbench.surgery.piece_extension import PieceExtension
from tokbench.surgery.piece_learning import UNKNOWN
from tokbench.surgery.piece_words import normalizer_of, words_of_document, words_of_model
from tokbench.surgery.proofs import LikelierByNewPieces, OnlyByNewPieces
from tokbench.surgery.scored_pieces import pieces_of_document, pieces_of_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.surgery.contents import Algorithm, Content
    from tokbench.surgery.piece_words import PieceWords
    from tokbench.surgery.scored_pieces import ScoredPieces

_BELOW = 1.0
"""A margin that is far larger than rounding errors of sums."""


@dataclass
class UnigramExtension(PieceExtension[ScoredGrowing]):
    """A Unigram to extend."""

    algorithm: ClassVar[Algorithm] = "unigram"

    @cached_property
    def scored(self) -> ScoredPieces:
        """Its pieces with their scores."""
        return pieces_of_document(self.document) if self.model is None else pieces_of_model(self.model)

    @cached_property
    def words(self) -> PieceWords:
        """Its splitting of text into words."""
        if isinstance(self.content, bytes) and self.model is not None:
            return words_of_model(self.model, normalizer_of(self.content))
        return words_of_document(self.document, self.scored.texts.values())

    def new_pieces(self) -> ScoredGrowing:
        """Return its pieces without any new ones."""
        scored = self.scored
        return ScoredGrowing({text: scored.scores[id] for id, text in scored.texts.items()})

    @property
    def deciding(self) -> Sequence[Any]:
        """Its pieces with their scores, special ones included."""
        return self.document["model"]["vocab"] if self.model is None else self.model.pieces

    def count(self, corpus: Corpus, *, threads: int | None, progress: Progress) -> None:
        """Count words, and set the total number of parts, by which the votes for new pieces are divided."""
        super().count(corpus, threads=threads, progress=progress)
        cut = self.pieces.cut
        self.pieces.total = max(1, sum(count * len(cut(word)) for word, count in self._counted.items()))

    def take(self, words: Sequence[str]) -> list[str]:
        """Add words as pieces, shorter ones first since they may be parts of others, and return the new pieces."""
        for word in sorted(words, key=len):
            if word not in self.words.taken:
                self.pieces.add_word(word)
        return list(self.pieces.new)

    def appended(self, special_tokens: Mapping[str, int]) -> Content:
        """Append the new pieces with their scores."""
        pieces, scores = self.new_ids, self.pieces.new
        if self.model is not None:
            made = [ModelPiece(text, scores[text], PieceType.NORMAL) for text in pieces]
            return self.extended_model(made, special_tokens)
        # Added tokens outside the vocabulary need placeholders before new pieces.
        outside = added_outside(self.document) if pieces else {}
        held = dict(sorted(outside.items(), key=lambda item: item[1]))
        if held:
            scores = scores | dict.fromkeys(held, unused_score(held, self.pieces))
        return extended_document(self.document, held | pieces, scores=scores, special_tokens=special_tokens)

    def rule(self, new: Tokenizer) -> LikelierByNewPieces:
        """Return the rule that texts change only by new pieces, and that their sums of scores do not fall."""
        changes = OnlyByNewPieces(self.opened.tokenizer, new, first_id=self.first_id, unknown=self.unknown_id)
        learned = {id: self.pieces.new[piece] for piece, id in self.new_ids.items()}
        known = {**self.scored.scores, **learned}
        return LikelierByNewPieces(changes, [known.get(id) for id in range(new.info.vocab_size)])


def unused_score(texts: Iterable[str], pieces: ScoredGrowing) -> float:
    """Return a score with which texts can be added as pieces without any text being segmented into them.

    It is below the sum of scores of each text's segmentation. A text with an unknown character has no such score, since
    unknown characters always score below the lowest piece. Lowering the lowest score also lowers that of unknown
    characters, which changes no segmentation if every character of the old pieces is a piece: all segmentations of a
    text then have the same number of unknown characters.

    Args:
        texts: the texts of the placeholders.
        pieces: all other pieces.

    Raises:
        SurgeryError: no score is low enough, because a character is not a piece.

    >>> from tokbench.surgery.growing_pieces import ScoredGrowing
    >>> unused_score(["[A]"], ScoredGrowing({"[": -2.0, "A": -3.0, "]": -2.5}))
    -9.0
    """
    for piece in pieces.scores.keys() - pieces.new.keys():
        unknown = next((character for character in piece if character not in pieces.scores), None)
        if unknown is not None:
            raise _placeholder_error(
                f"a placeholder's low score would lower that of unknown characters, and change how text "
                f"with {unknown!r} is cut: it is in the piece {piece!r}, but not a piece itself"
            )
    lowest = min(pieces.scores.values())
    for text in texts:
        parts = pieces.cut(text)
        unknown = next((part[1:] for part in parts if part[0] == UNKNOWN), None)
        if unknown is not None:
            raise _placeholder_error(
                f"{text!r} would have to be a piece, and ordinary text would become it, as its character "
                f"{unknown!r} is not a piece",
                hint=f"learn from text with {unknown!r}, so that it becomes one, or add special tokens only",
            )
        lowest = min(lowest, pieces.sum(parts))
    return floor(lowest) - _BELOW


def _placeholder_error(
    why: str, *, hint: str = "tokens can only be added to it as special ones"
) -> SurgeryError:
    return SurgeryError(
        f"a Unigram's pieces are numbered in order, and added tokens have the ids after them: {why}",
        hint=hint,
    )
