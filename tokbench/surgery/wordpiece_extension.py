"""Addition of pieces to a WordPiece: the most frequent adjacent pairs, and whole words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from tokbench.errors import ConfigError, SurgeryError
from tokbench.surgery.documents import added_outside, extended_document
from tokbench.surgery.growing_pieces import MatchedGrowing
from tokbench.surgery.matched_pieces import notes_of_characters, pieces_of_document
from tokbench.surgery.piece_extension import PieceExtension
from tokbench.surgery.piece_learning import UNKNOWN
from tokbench.surgery.piece_words import MatchedWords
from tokbench.surgery.proofs import OnlyByNewPieces

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer
    from tokbench.surgery.contents import Algorithm, Content
    from tokbench.surgery.matched_pieces import MatchedPieces
    from tokbench.surgery.piece_learning import Parts


@dataclass
class WordPieceExtension(PieceExtension[MatchedGrowing]):
    """A WordPiece to extend."""

    algorithm: ClassVar[Algorithm] = "wordpiece"

    @cached_property
    def matched(self) -> MatchedPieces:
        """Its pieces."""
        return pieces_of_document(self.document)

    @cached_property
    def words(self) -> MatchedWords:
        """Its splitting of text into words."""
        return MatchedWords(self.document)

    def new_pieces(self) -> MatchedGrowing:
        """Return its pieces without any new ones."""
        return MatchedGrowing(self.matched.texts.values(), prefix=self.matched.prefix)

    @property
    def deciding(self) -> Sequence[Any]:
        """Its pieces in the order of their ids."""
        return sorted(self.matched.texts.items())

    def bytes_of(self, piece: str) -> bytes:
        """Return the bytes of a piece without its prefix."""
        return self.text_of(piece).encode()

    def text_of(self, piece: str) -> str:
        """Return a piece without its prefix."""
        return piece.removeprefix(self.matched.prefix)

    def take(self, words: Sequence[str]) -> list[str]:
        """Add the words that are not pieces yet, and return them."""
        long = next((word for word in words if len(self.text_of(word)) > self.words.longest), None)
        if long is not None:
            raise ConfigError(
                f"the word {long!r:.40} has more than {self.words.longest} characters, and such words are unknown",
                hint="leave it out",
            )
        new = [word for word in words if self.pieces.cut(word) != (word,)]
        for word in new:
            self.pieces.add(word, 1)
        return new

    def appended(self, special_tokens: Mapping[str, int]) -> Content:
        """Append the new pieces to the document."""
        for text in (*added_outside(self.document), *special_tokens):
            # As entries of the vocabulary, added tokens that are single words would be matched in text.
            if self.words.of_text(text) == [text]:
                raise SurgeryError(
                    f"the word {text!r} in a text would become the added token, as its id must be in the vocabulary",
                    hint="choose a text that is split into several words, such as [TEXT]",
                )
        return extended_document(self.document, self.new_ids, special_tokens=special_tokens)

    def rule(self, new: Tokenizer) -> OnlyByNewPieces:
        """Return the rule that words change only by new pieces, and that none becomes unknown."""
        return OnlyByNewPieces(self.opened.tokenizer, new, first_id=self.first_id, unknown=self.unknown_id)

    @property
    def notes(self) -> tuple[str, ...]:
        """A note that words of other text can become unknown, if that is possible."""
        return notes_of_characters(self.matched)

    def old_parts(self, pieces: MatchedGrowing, piece: str) -> Parts:
        """Return the old pieces that a new piece was matched with, skipping unknown characters."""
        known: list[str] = []
        while piece:
            parts = pieces.cut(piece)
            known += (part for part in parts if part[0] != UNKNOWN)
            done = sum(len(self.text_of(part.removeprefix(UNKNOWN))) for part in parts)
            rest = self.text_of(piece)[done:]
            piece = rest and self.matched.prefix + rest
        return tuple(known)
