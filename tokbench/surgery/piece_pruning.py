"""Removal of pieces from a SentencePiece model or a `tokenizer.json`, by leaves or by loss, with files and proofs."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from tokbench.files.atomic import write_folder
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.opening.open import open_path
from tokbench.opening.request import OpenRequest
from tokbench.surgery.character_merges import check_merges, merges_of_document, merges_of_model
from tokbench.surgery.configuration import files_beside
from tokbench.surgery.documents import dumped, pruned_document
from tokbench.surgery.leaves import choose_leaves
from tokbench.surgery.library_proofs import prove_in_libraries, prove_model_in_libraries
from tokbench.surgery.model_files import DOCUMENT_NAME, WORD_LIST_NAME, model_name
from tokbench.surgery.models import pruned_model
from tokbench.surgery.piece_losses import choose_pieces
from tokbench.surgery.proofs import check_tokens, check_words
from tokbench.surgery.pruned_tokenizer import PrunedTokenizer, PruningProofs
from tokbench.surgery.scored_pieces import check_scores, pieces_of_document, pieces_of_model
from tokbench.surgery.token_usage import TokenUsage, count_usage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.opening.request import Opened
    from tokbench.surgery.character_merges import CharacterMerges
    from tokbench.surgery.contents import Algorithm, Content
    from tokbench.surgery.id_map import IdMap
    from tokbench.surgery.leaves import Removal
    from tokbench.surgery.library_proofs import LibraryProofs
    from tokbench.surgery.scored_pieces import ScoredPieces


class Vocabulary(Protocol):
    """The pieces of a tokenizer of any algorithm.

    Attributes:
        kept: the ids that are never removed.
        token_bytes: id → bytes of the ordinary pieces.
    """

    @property
    def kept(self) -> frozenset[int]: ...  # noqa: D102
    @property
    def token_bytes(self) -> dict[int, bytes]: ...  # noqa: D102


@dataclass(frozen=True)
class PiecePruning(ABC):
    """Base class for pruning lists of pieces; see `pruning.Pruning`.

    Attributes:
        opened: the tokenizer.
        content: the content with its pieces: a serialized `ModelProto`, or a parsed `tokenizer.json`.
    """

    opened: Opened
    content: Content

    @property
    @abstractmethod
    def vocabulary(self) -> Vocabulary:
        """Its pieces. Raises `SurgeryError`."""

    @cached_property
    def token_bytes(self) -> Mapping[int, bytes]:
        """Id → bytes of the ordinary pieces."""
        return self.vocabulary.token_bytes

    @property
    def kept(self) -> Collection[int]:
        """The ids that are never removed."""
        return self.vocabulary.kept

    @abstractmethod
    def check(self, changed: Content, id_map: IdMap) -> int:
        """Check the pieces of the changed content, and return their number. Raises `SurgeryError`."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the user about the algorithm, one sentence each."""
        return ()

    def prove(self, new: Tokenizer, path: Path, *, seed: int, progress: Progress) -> LibraryProofs:
        """Compare the pruned tokenizer with its file in libraries. Raises `ProofError`."""
        if isinstance(self.content, bytes):
            return prove_model_in_libraries(new, path, seed=seed, progress=progress)
        return prove_in_libraries(new, path, with_ranks=False, seed=seed, progress=progress)

    def count(self, texts: Iterable[str], *, threads: int | None) -> TokenUsage:
        """Count the occurrences of each token."""
        return count_usage(self.opened.tokenizer, texts, threads=threads)

    def prune(
        self, id_map: IdMap, *, name: str, texts: Iterable[str], seed: int, progress: Progress
    ) -> PrunedTokenizer:
        """Create the files, and prove them."""
        old = self.opened.tokenizer
        changed, files = self._changed(id_map)
        [file_name] = files
        made = self.check(changed, id_map)
        with tempfile.TemporaryDirectory(prefix="tokbench-") as folder:
            bare, trial = Path(folder) / "bare" / name, Path(folder) / "whole" / name
            for place in (bare, trial):
                place.parent.mkdir()
            write_folder(bare, files, replace=False)
            files |= files_beside(old, open_path(bare / file_name, OpenRequest()).tokenizer, id_map)
            write_folder(trial, files, replace=False)
            new = open_path(trial / file_name, OpenRequest()).tokenizer
            kept = check_tokens(old, new, id_map)
            segmentations = check_words(texts, tokenizers=(old, new), id_map=id_map)
            proved = self.prove(new, trial / file_name, seed=seed, progress=progress)
        for file, data in ((DOCUMENT_NAME, proved.document), (WORD_LIST_NAME, proved.word_list)):
            if data is not None:
                files[file] = data
        proofs = PruningProofs(kept, made, segmentations, proved.encodings)
        return PrunedTokenizer(new, files, proofs, (*self.notes, *proved.notes))

    def _changed(self, id_map: IdMap) -> tuple[Content, dict[str, bytes]]:
        """Return the content with the remaining pieces, and the file with it."""
        if isinstance(self.content, bytes):
            model = pruned_model(self.content, id_map)
            return model, {model_name(self.opened): model}
        document = pruned_document(self.content, id_map, path=self.opened.source.path)
        return document, {DOCUMENT_NAME: dumped(document)}


@dataclass(frozen=True)
class CharacterPruning(PiecePruning):
    """A BPE over characters to prune."""

    algorithm: ClassVar[Algorithm] = "character_bpe"

    @cached_property
    def vocabulary(self) -> CharacterMerges:
        """Its pieces and merges. Raises `SurgeryError`."""
        return self._merges(self.content)

    def choose(
        self, usage: TokenUsage, *, selected: Collection[int], size: int | None, min_count: int | None
    ) -> Removal:
        """Choose the leaves to remove."""
        return choose_leaves(
            self.vocabulary.parts,
            frequencies=usage.frequencies,
            selected=selected,
            size=size,
            min_count=min_count,
        )

    def check(self, changed: Content, id_map: IdMap) -> int:
        """Check that pieces are merged from the same two as before, and return their number."""
        return check_merges(self.vocabulary, self._merges(changed), id_map)

    def _merges(self, content: Content) -> CharacterMerges:
        if isinstance(content, bytes):
            return merges_of_model(parse_model(content))
        return merges_of_document(content, path=self.opened.source.path)


@dataclass(frozen=True)
class UnigramPruning(PiecePruning):
    """A Unigram to prune."""

    algorithm: ClassVar[Algorithm] = "unigram"

    @cached_property
    def vocabulary(self) -> ScoredPieces:
        """Its pieces with their scores."""
        return _pieces(self.content)

    def choose(
        self, usage: TokenUsage, *, selected: Collection[int], size: int | None, min_count: int | None
    ) -> Removal:
        """Choose the pieces to remove, by loss."""
        return choose_pieces(
            self.vocabulary,
            frequencies=usage.frequencies,
            selected=selected,
            size=size,
            min_count=min_count,
        )

    def check(self, changed: Content, id_map: IdMap) -> int:
        """Check that pieces keep their scores, and return their number."""
        return check_scores(self.vocabulary, _pieces(changed), id_map)


def _pieces(content: Content) -> ScoredPieces:
    return (
        pieces_of_model(parse_model(content)) if isinstance(content, bytes) else pieces_of_document(content)
    )
