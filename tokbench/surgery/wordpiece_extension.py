"""Addition of pieces to a WordPiece: the most frequent adjacent pairs, and whole words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from tokbench.errors import ConfigError, SurgeryError
from tokbench.surgery.documents import added_outside, extended_document
from tokbench.surgery.extension_proofs import OnlyByNewPieces, check_texts
from tokbench.surgery.growing_pieces import MatchedGrowing
from tokbench.surgery.library_proofs import prove_word_list_in_libraries
from tokbench.surgery.matched_pieces import notes_of_characters, pieces_of_document
from tokbench.surgery.piece_extension import PieceExtension
from tokbench.surgery.piece_learning import UNKNOWN
from tokbench.surgery.piece_words import MatchedWords
from tokbench.surgery.wordpiece_pruning import WITH_WORD_LIST

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.surgery.contents import Algorithm, Content
    from tokbench.surgery.library_proofs import LibraryProofs
    from tokbench.surgery.matched_pieces import MatchedPieces
    from tokbench.surgery.piece_learning import GrowingPieces, Parts
    from tokbench.surgery.proofs import SegmentationProof


@dataclass
class WordPieceExtension(PieceExtension):
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

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """Piece → id."""
        return dict(self.document["model"]["vocab"])

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

    def words_of(self, line: str) -> list[str]:
        """Split a line into words; a line with the prefix stands for a piece inside words."""
        prefix = self.matched.prefix
        mark = prefix if line.startswith(prefix) and line != prefix else ""
        return [mark + word for word in self.words.of_text(line.removeprefix(mark))]

    def count_words(self, texts: Iterable[str], *, threads: int | None, progress: Progress) -> Counter[str]:
        """Count the words of texts."""
        return self.words.count(texts, threads=threads, progress=progress)

    def may_be_piece(self, text: str) -> bool:
        """Whether a text is not in the vocabulary yet."""
        return text not in self.ids

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

    def changed(self, pieces: Mapping[str, int], special_tokens: Mapping[str, int]) -> Content:
        """Append the new pieces to the document."""
        self._check_no_word([*added_outside(self.document), *special_tokens])
        return extended_document(self.document, pieces, special_tokens=special_tokens)

    def check(self, new: Tokenizer, *, texts: Sequence[str], threads: int | None) -> SegmentationProof:
        """Check that words change only by new pieces, and that none becomes unknown."""
        old = self.opened.tokenizer
        rule = OnlyByNewPieces(old, new, first_id=self.first_id, unknown=self.unknown_id)
        return check_texts(texts, tokenizers=(old, new), rule=rule, threads=threads)

    def prove(self, new: Tokenizer, path: Path, *, seed: int, progress: Progress) -> LibraryProofs:
        """Compare the extended tokenizer with its files in libraries."""
        if self.opened.source.format in WITH_WORD_LIST:
            found = prove_word_list_in_libraries(new, path, seed=seed, progress=progress)
        else:
            found = super().prove(new, path, seed=seed, progress=progress)
        return replace(found, notes=(*notes_of_characters(self.matched), *found.notes))

    def old_parts(self, pieces: GrowingPieces, piece: str) -> Parts:
        """Return the old pieces that a new piece was matched with, skipping unknown characters."""
        known: list[str] = []
        while piece:
            parts = pieces.cut(piece)
            known += (part for part in parts if part[0] != UNKNOWN)
            done = sum(len(self.text_of(part.removeprefix(UNKNOWN))) for part in parts)
            rest = self.text_of(piece)[done:]
            piece = rest and self.matched.prefix + rest
        return tuple(known)

    def _check_no_word(self, texts: Sequence[str]) -> None:
        """Refuse added tokens that are single words: as entries of the vocabulary, they would be matched in text."""
        for text in texts:
            if self.words.of_text(text) == [text]:
                raise SurgeryError(
                    f"the word {text!r} in a text would become the added token, as its id must be in the vocabulary",
                    hint="choose a text that is split into several words, such as [TEXT]",
                )
