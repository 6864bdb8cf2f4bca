"""An extended tokenizer: its files, reopened from a temporary folder and proved before anything is written."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.files.atomic import write_folder
from tokbench.opening.open import open_path
from tokbench.opening.request import OpenRequest
from tokbench.surgery.configuration import files_beside
from tokbench.surgery.documents import dumped
from tokbench.surgery.id_map import IdMap, InitialRows
from tokbench.surgery.model_files import DOCUMENT_NAME, RANKS_NAME, WORD_LIST_NAME
from tokbench.surgery.proofs import wrong
from tokbench.surgery.shared_tokens import tokens_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tokbench.convert.proof import ProofResult
    from tokbench.core.interfaces import Tokenizer
    from tokbench.opening.request import Opened
    from tokbench.surgery.contents import Contents
    from tokbench.surgery.library_proofs import LibraryProofs
    from tokbench.surgery.proofs import SegmentationProof


@dataclass(frozen=True, slots=True)
class ExtensionProofs:
    """The results of the checks before anything is written.

    Attributes:
        tokens: number of old ids, each with its old bytes.
        segmentations: number of texts and distinct words for which the algorithm's guarantees hold.
        encodings: the comparison with each library that opens one of the files.
    """

    tokens: int
    segmentations: SegmentationProof
    encodings: tuple[ProofResult, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON of the checks."""
        return {
            "tokens": self.tokens,
            "segmentations": self.segmentations.to_json(),
            "encodings": [proof.to_json() for proof in self.encodings],
        }


@dataclass(frozen=True, slots=True)
class ExtendedTokenizer:
    """A tokenizer with additional tokens.

    Attributes:
        opened: the extended tokenizer.
        contents: the content with its tokens.
        files: file name → content.
        id_map: the map from the old ids to the new ids.
        rows: the initial rows of a new embedding.
        proofs: the results of the checks.
        notes: remarks for the user, one sentence each.
    """

    opened: Opened
    contents: Contents
    files: Mapping[str, bytes]
    id_map: IdMap
    rows: InitialRows
    proofs: ExtensionProofs
    notes: tuple[str, ...]


def extend_tokenizer(
    opened: Opened,
    contents: Contents,
    file_name: str,
    *,
    size: int,
    name: str,
    made_of: Mapping[int, Sequence[int]],
    check: Callable[[Tokenizer], SegmentationProof],
    prove: Callable[[Tokenizer, Path], LibraryProofs],
) -> ExtendedTokenizer:
    """Create the files of an extended tokenizer, and prove them.

    Args:
        opened: the old tokenizer.
        contents: the content with the tokens of the new tokenizer.
        file_name: name of the file with this content.
        size: size of the new vocabulary.
        name: name of the new tokenizer.
        made_of: new id → the old ids that spell it.
        check: checks the new tokenizer on texts; raises `SurgeryError`.
        prove: compares the new tokenizer with its file in libraries; raises `ProofError`.

    Raises:
        SurgeryError: a check fails; `ProofError` if a library gives other ids.
    """
    old, files = opened.tokenizer, {file_name: dumped(contents.content)}
    id_map = IdMap.of_pairs(((id, id) for id, _ in tokens_of(old)), sizes=(old.info.vocab_size, size))
    with tempfile.TemporaryDirectory(prefix="tokbench-") as folder:
        bare, trial = (Path(folder) / place / name for place in ("bare", "whole"))
        for place in (bare, trial):
            place.parent.mkdir()
        write_folder(bare, files, replace=False)
        files |= files_beside(old, open_path(bare / file_name, OpenRequest()).tokenizer, id_map)
        write_folder(trial, files, replace=False)
        made = open_path(trial / file_name, OpenRequest())
        kept = _check_tokens(old, made.tokenizer, id_map)
        segmentations = check(made.tokenizer)
        proved = prove(made.tokenizer, trial / file_name)
    beside = (
        (DOCUMENT_NAME, proved.document),
        (WORD_LIST_NAME, proved.word_list),
        (RANKS_NAME, proved.ranks),
    )
    files |= {file: data for file, data in beside if data is not None}
    proofs = ExtensionProofs(kept, segmentations, proved.encodings)
    return ExtendedTokenizer(
        made, contents, files, id_map, InitialRows.of(id_map, made_of), proofs, proved.notes
    )


def _check_tokens(old: Tokenizer, new: Tokenizer, id_map: IdMap) -> int:
    """Check that old tokens keep their bytes and remain special if they were; return the number of old ids."""
    kept = [id for id in id_map.new_to_old if id >= 0]
    for id in kept:
        if (before := old.token_bytes(id)) != (after := new.token_bytes(id)):
            raise wrong(f"token {id}, {before!r}, would be {after!r}")
    for text, id in old.info.special_tokens.items():
        if new.info.special_tokens.get(text) != id:
            raise wrong(f"the special token {text!r} would not be {id} any more")
    return len(kept)
