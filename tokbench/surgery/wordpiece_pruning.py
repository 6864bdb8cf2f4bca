"""Removal of pieces from a WordPiece, by the number of tokens that a text gains."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from tokbench.lint.corpus_counts import batches
from tokbench.opening.recognition import Format
from tokbench.surgery.library_proofs import prove_word_list_in_libraries
from tokbench.surgery.match_losses import choose_matches
from tokbench.surgery.matched_pieces import check_pieces, notes_of_characters, pieces_of_document
from tokbench.surgery.piece_pruning import PiecePruning
from tokbench.surgery.token_usage import TokenUsage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.surgery.contents import Algorithm, Content
    from tokbench.surgery.id_map import IdMap
    from tokbench.surgery.leaves import Removal
    from tokbench.surgery.library_proofs import LibraryProofs
    from tokbench.surgery.matched_pieces import MatchedPieces

WITH_WORD_LIST = (Format.WORDPIECE_VOCAB, Format.SAVED)
"""The formats that include a `vocab.txt`, for which the result includes one as well."""


@dataclass(frozen=True)
class WordPiecePruning(PiecePruning):
    """A WordPiece to prune."""

    algorithm: ClassVar[Algorithm] = "wordpiece"

    @cached_property
    def vocabulary(self) -> MatchedPieces:
        """Its pieces."""
        return _pieces(self.content)

    @property
    def notes(self) -> tuple[str, ...]:
        """A note that words of other text can become unknown, if that is possible."""
        return notes_of_characters(self.vocabulary)

    def prove(self, new: Tokenizer, path: Path, *, seed: int, progress: Progress) -> LibraryProofs:
        """Compare the pruned tokenizer with its files in libraries. Raises `ProofError`."""
        if self.opened.source.format not in WITH_WORD_LIST:
            return super().prove(new, path, seed=seed, progress=progress)
        return prove_word_list_in_libraries(new, path, seed=seed, progress=progress)

    def count(self, texts: Iterable[str], *, threads: int | None) -> TokenUsage:
        """Count the words that are not unknown."""
        words: Counter[str] = Counter()
        for batch in batches(texts):
            encoded = self.opened.tokenizer.encode_batch(batch, threads=threads)
            words.update(self.vocabulary.words(encoded.ids.tolist()))
        return TokenUsage(words=words)

    def choose(
        self, usage: TokenUsage, *, selected: Collection[int], size: int | None, min_count: int | None
    ) -> Removal:
        """Choose the pieces to remove, by loss."""
        return choose_matches(
            self.vocabulary, words=usage.words, selected=selected, size=size, min_count=min_count
        )

    def check(self, changed: Content, id_map: IdMap) -> int:
        """Check that the remaining pieces are unchanged, and return their number."""
        return check_pieces(self.vocabulary, _pieces(changed), id_map)


def _pieces(content: Content) -> MatchedPieces:
    assert not isinstance(content, bytes)  # no SentencePiece model is a WordPiece
    return pieces_of_document(content)
