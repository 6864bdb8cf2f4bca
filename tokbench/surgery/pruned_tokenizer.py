"""A pruned tokenizer: its files, opened again from a temporary place and proved before anything is written."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.convert.targets.tokenizers import tokenizer_json_of
from tokbench.files.atomic_folder import write_folder
from tokbench.opening.open import open_path
from tokbench.opening.recognition import Format
from tokbench.opening.request import OpenRequest
from tokbench.surgery.bpe_document import read_bpe
from tokbench.surgery.configuration import files_beside
from tokbench.surgery.documents import pruned_document
from tokbench.surgery.library_proofs import WITH_RANKS, prove_in_libraries, source_of
from tokbench.surgery.output_folder import DOCUMENT_NAME, RANKS_NAME
from tokbench.surgery.proofs import check_reachable, check_segmentations, check_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokbench.convert.proof import ProofResult
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.opening.request import Opened
    from tokbench.surgery.id_map import IdMap
    from tokbench.surgery.proofs import SegmentationProof


@dataclass(frozen=True, slots=True)
class PruningProofs:
    """What was checked before anything was written.

    Attributes:
        tokens: that stay, each with the bytes that it had.
        made: of these, those that merging makes, each of the same two tokens as before.
        segmentations: texts of the corpus whose ids are what the definition says.
        encodings: the comparison with each library that opens a file of it.
    """

    tokens: int
    made: int
    segmentations: SegmentationProof
    encodings: tuple[ProofResult, ...]

    def to_json(self) -> dict[str, Any]:
        """As a part of `--json`."""
        return {
            "tokens": self.tokens,
            "made": self.made,
            "segmentations": self.segmentations.to_json(),
            "encodings": [proof.to_json() for proof in self.encodings],
        }


@dataclass(frozen=True, slots=True)
class PrunedTokenizer:
    """A tokenizer from which tokens went.

    Attributes:
        tokenizer: it, running.
        files: its files by name.
        proofs: what was checked.
        notes: what its user has to know, a sentence each.
    """

    tokenizer: Tokenizer
    files: Mapping[str, bytes]
    proofs: PruningProofs
    notes: tuple[str, ...]


def document_of(opened: Opened) -> dict[str, Any]:
    """A tokenizer as a `tokenizer.json`: its own, or the one that a conversion gives.

    Raises:
        ConversionError: it has none that gives the same ids.
    """
    from tokbench.opening.files import parse_json, read_file

    if opened.source.format is Format.TOKENIZER_JSON:
        path = opened.source.files[0]
        return dict(parse_json(read_file(path), path=path))
    return dict(parse_json(tokenizer_json_of(source_of(opened.tokenizer)), path=opened.source.path))


def prune_tokenizer(
    opened: Opened,
    document: Mapping[str, Any],
    id_map: IdMap,
    *,
    name: str,
    texts: Iterable[str],
    seed: int,
    progress: Progress,
) -> PrunedTokenizer:
    """Make the files of a pruned tokenizer, and prove them.

    Args:
        opened: the tokenizer.
        document: it as a `tokenizer.json`.
        id_map: which tokens stay, with their new ids.
        name: how the new one calls itself.
        texts: on which segmentations are compared with the definition.
        seed: draws the generated texts of the comparison with libraries.
        progress: told how far that is.

    Raises:
        ConversionError: something does not hold; `ProofError` if a library gives other ids.
    """
    import orjson

    path = opened.source.path
    changed = pruned_document(document, id_map, path=path)
    before, after = read_bpe(document, path=path), read_bpe(changed, path=path)
    files = {DOCUMENT_NAME: orjson.dumps(changed, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)}
    with tempfile.TemporaryDirectory(prefix="tokbench-") as folder:
        trial = Path(folder) / name
        write_folder(trial, files, replace=False)
        tokenizer = open_path(trial, OpenRequest()).tokenizer
        files |= files_beside(opened.tokenizer, tokenizer, id_map)
        kept = check_tokens(opened.tokenizer, tokenizer, id_map)
        made = check_reachable(before, after)
        segmentations = check_segmentations(
            texts,
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
