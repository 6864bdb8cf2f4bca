"""An extended tokenizer: its files, opened again from a temporary place and proved before anything is written."""

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
    """What was checked before anything was written.

    Attributes:
        tokens: old ids, each with the bytes that it had.
        segmentations: texts and distinct words of which holds what the algorithm promises.
        encodings: the comparison with each library that opens a file of it.
    """

    tokens: int
    segmentations: SegmentationProof
    encodings: tuple[ProofResult, ...]

    def to_json(self) -> dict[str, Any]:
        """As a part of `--json`."""
        return {
            "tokens": self.tokens,
            "segmentations": self.segmentations.to_json(),
            "encodings": [proof.to_json() for proof in self.encodings],
        }


@dataclass(frozen=True, slots=True)
class ExtendedTokenizer:
    """A tokenizer with more tokens.

    Attributes:
        opened: it, running.
        contents: what holds its tokens.
        files: its files by name.
        id_map: from the old ids to the new.
        rows: what the rows of an embedding begin from.
        proofs: what was checked.
        notes: what its user has to know, a sentence each.
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
    """Make the files of an extended tokenizer, and prove them.

    Args:
        opened: the old tokenizer.
        contents: what holds the tokens of the new one.
        file_name: what that is called.
        size: how many ids it has.
        name: how the new one calls itself.
        made_of: new id → old ids.
        check: what must hold of texts; raises `ConversionError`.
        prove: compares it with its file in libraries; raises `ProofError`.

    Raises:
        ConversionError: something does not hold; `ProofError` if a library gives other ids.
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
    """How many ids there were: each has the bytes that it had, and special tokens are special still."""
    kept = [id for id in id_map.new_to_old if id >= 0]
    for id in kept:
        if (before := old.token_bytes(id)) != (after := new.token_bytes(id)):
            raise wrong(f"token {id}, {before!r}, would be {after!r}")
    for text, id in old.info.special_tokens.items():
        if new.info.special_tokens.get(text) != id:
            raise wrong(f"the special token {text!r} would not be {id} any more")
    return len(kept)
