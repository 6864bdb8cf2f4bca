"""Removing pieces from a Unigram by loss: a SentencePiece model, or a `tokenizer.json`."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tokbench.files.atomic_folder import write_folder
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.opening.open import open_path
from tokbench.opening.request import OpenRequest
from tokbench.surgery.configuration import files_beside
from tokbench.surgery.documents import pruned_document
from tokbench.surgery.library_proofs import prove_in_libraries, prove_model_in_libraries
from tokbench.surgery.output_folder import DOCUMENT_NAME, MODEL_NAME, MODEL_SUFFIX
from tokbench.surgery.piece_losses import choose_pieces
from tokbench.surgery.proofs import check_tokens
from tokbench.surgery.pruned_model import pruned_model
from tokbench.surgery.pruned_tokenizer import PrunedTokenizer, PruningProofs
from tokbench.surgery.scored_pieces import check_scores, pieces_of_document, pieces_of_model
from tokbench.surgery.token_usage import TokenUsage, count_usage
from tokbench.surgery.word_proofs import check_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from tokbench.core.progress import Progress
    from tokbench.opening.request import Opened
    from tokbench.surgery.id_map import IdMap
    from tokbench.surgery.leaves import Removal
    from tokbench.surgery.library_proofs import LibraryProofs
    from tokbench.surgery.proofs import Algorithm
    from tokbench.surgery.scored_pieces import ScoredPieces


@dataclass(frozen=True)
class UnigramPruning:
    """A Unigram from which pieces are to go; see `pruning.Pruning`.

    Attributes:
        opened: the tokenizer.
        content: what holds its pieces: a serialised `ModelProto`, or a parsed `tokenizer.json`.
    """

    opened: Opened
    content: bytes | Mapping[str, Any]

    algorithm: ClassVar[Algorithm] = "unigram"

    @cached_property
    def vocabulary(self) -> ScoredPieces:
        """Its pieces."""
        return _pieces(self.content)

    @cached_property
    def token_bytes(self) -> Mapping[int, bytes]:
        """The bytes of each piece that text is cut into."""
        return self.vocabulary.token_bytes

    @property
    def kept(self) -> Collection[int]:
        """The ids that always stay."""
        return self.vocabulary.kept

    def count(self, texts: Iterable[str], *, threads: int | None) -> TokenUsage:
        """How often each token occurs."""
        return count_usage(self.opened.tokenizer, texts, threads=threads)

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

    def prune(
        self, id_map: IdMap, *, name: str, texts: Iterable[str], seed: int, progress: Progress
    ) -> PrunedTokenizer:
        """Make the files, and prove them."""
        old = self.opened.tokenizer
        changed, files = self._changed(id_map)
        [file_name] = files
        made = check_scores(self.vocabulary, _pieces(changed), id_map)
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
            proved: LibraryProofs
            if isinstance(changed, bytes):
                proved = prove_model_in_libraries(new, trial / file_name, seed=seed, progress=progress)
            else:
                proved = prove_in_libraries(
                    new, trial / file_name, with_ranks=False, seed=seed, progress=progress
                )
        if proved.document is not None:
            files[DOCUMENT_NAME] = proved.document
        proofs = PruningProofs(kept, made, segmentations, proved.encodings)
        return PrunedTokenizer(new, files, proofs, proved.notes)

    def _changed(self, id_map: IdMap) -> tuple[bytes | Mapping[str, Any], dict[str, bytes]]:
        """What holds the pieces that stay, and as a file."""
        import orjson

        if isinstance(self.content, bytes):
            model = pruned_model(self.content, id_map)
            return model, {self._model_name(): model}
        document = pruned_document(self.content, id_map, path=self.opened.source.path)
        data = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        return document, {DOCUMENT_NAME: data}

    def _model_name(self) -> str:
        names = [path.name for path in self.opened.source.files if path.suffix == MODEL_SUFFIX]
        return names[0] if names else MODEL_NAME


def _pieces(content: bytes | Mapping[str, Any]) -> ScoredPieces:
    return (
        pieces_of_model(parse_model(content)) if isinstance(content, bytes) else pieces_of_document(content)
    )
