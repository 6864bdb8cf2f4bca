"""Removal of tokens from a byte-level BPE, leaf by leaf; the result is a `tokenizer.json`."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tokbench.files.atomic import write_folder
from tokbench.opening.open import open_path
from tokbench.opening.request import OpenRequest
from tokbench.surgery.bpe_document import read_bpe
from tokbench.surgery.configuration import files_beside
from tokbench.surgery.documents import dumped, pruned_document
from tokbench.surgery.leaves import choose_leaves
from tokbench.surgery.library_proofs import WITH_RANKS, prove_in_libraries
from tokbench.surgery.model_files import DOCUMENT_NAME, RANKS_NAME
from tokbench.surgery.proofs import check_reachable, check_segmentations, check_tokens
from tokbench.surgery.pruned_tokenizer import PrunedTokenizer, PruningProofs
from tokbench.surgery.token_usage import TokenUsage, count_usage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from tokbench.core.progress import Progress
    from tokbench.opening.request import Opened
    from tokbench.surgery.bpe_document import BpeDocument
    from tokbench.surgery.contents import Algorithm
    from tokbench.surgery.id_map import IdMap
    from tokbench.surgery.leaves import Removal

_PROVED_TEXTS = 256
"""Number of texts to compare; limited because merging by definition is slow."""


@dataclass(frozen=True)
class BpePruning:
    """A byte-level BPE to prune; see `pruning.Pruning`.

    Attributes:
        opened: the tokenizer.
        document: the tokenizer as a parsed `tokenizer.json`.
    """

    opened: Opened
    document: Mapping[str, Any]

    algorithm: ClassVar[Algorithm] = "bpe"

    @cached_property
    def vocabulary(self) -> BpeDocument:
        """Its tokens and merges. Raises `SurgeryError` if it is not a byte-level BPE."""
        return read_bpe(self.document, path=self.opened.source.path)

    @property
    def token_bytes(self) -> Mapping[int, bytes]:
        """Id → bytes of the ordinary tokens."""
        return self.vocabulary.token_bytes

    @property
    def kept(self) -> Collection[int]:
        """The ids that are never removed."""
        return self.vocabulary.parts.kept

    def count(self, texts: Iterable[str], *, threads: int | None) -> TokenUsage:
        """Count the occurrences of each token."""
        return count_usage(self.opened.tokenizer, texts, threads=threads)

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

    def prune(
        self, id_map: IdMap, *, name: str, texts: Iterable[str], seed: int, progress: Progress
    ) -> PrunedTokenizer:
        """Create the files, and prove them."""
        opened = self.opened
        changed = pruned_document(self.document, id_map, path=opened.source.path)
        before, after = self.vocabulary, read_bpe(changed, path=opened.source.path)
        files = {DOCUMENT_NAME: dumped(changed)}
        with tempfile.TemporaryDirectory(prefix="tokbench-") as folder:
            trial = Path(folder) / name
            write_folder(trial, files, replace=False)
            tokenizer = open_path(trial, OpenRequest()).tokenizer
            files |= files_beside(opened.tokenizer, tokenizer, id_map)
            kept = check_tokens(opened.tokenizer, tokenizer, id_map)
            made = check_reachable(before, after)
            segmentations = check_segmentations(
                islice(texts, _PROVED_TEXTS),
                tokenizers=(opened.tokenizer, tokenizer),
                documents=(before, after),
                new_document=changed,
                id_map=id_map,
            )
            proved = prove_in_libraries(
                tokenizer,
                trial / DOCUMENT_NAME,
                with_ranks=opened.source.format in WITH_RANKS,
                seed=seed,
                progress=progress,
            )
        if proved.ranks is not None:
            files[RANKS_NAME] = proved.ranks
        proofs = PruningProofs(kept, made, segmentations, proved.encodings)
        return PrunedTokenizer(tokenizer, files, proofs, proved.notes)
