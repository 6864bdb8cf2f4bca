"""A pruned tokenizer: its files, and the checks that they passed before anything is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.convert.targets.tokenizers import tokenizer_json_of
from tokbench.opening.recognition import Format
from tokbench.surgery.library_proofs import source_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.convert.proof import ProofResult
    from tokbench.core.interfaces import Tokenizer
    from tokbench.opening.request import Opened
    from tokbench.surgery.proofs import SegmentationProof


@dataclass(frozen=True, slots=True)
class PruningProofs:
    """The results of the checks before anything is written.

    Attributes:
        tokens: number of remaining tokens, each with its old bytes.
        reproduced: number of remaining tokens that merging produces from the same two tokens as before; for other
            algorithms, of remaining ordinary pieces, each with its old text (and score).
        segmentations: the comparison of ids with the definition on texts of the corpus.
        encodings: the comparison with each library that opens one of the files.
    """

    tokens: int
    reproduced: int
    segmentations: SegmentationProof
    encodings: tuple[ProofResult, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON of the checks."""
        return {
            "tokens": self.tokens,
            "reproduced": self.reproduced,
            "segmentations": self.segmentations.to_json(),
            "encodings": [proof.to_json() for proof in self.encodings],
        }


@dataclass(frozen=True, slots=True)
class PrunedTokenizer:
    """A tokenizer with tokens removed.

    Attributes:
        tokenizer: the pruned tokenizer.
        files: file name → content.
        proofs: the results of the checks.
        notes: remarks for the user, one sentence each.
    """

    tokenizer: Tokenizer
    files: Mapping[str, bytes]
    proofs: PruningProofs
    notes: tuple[str, ...]


def document_of(opened: Opened) -> dict[str, Any]:
    """Return a tokenizer as a parsed `tokenizer.json`: its own file, or the result of a conversion.

    Raises:
        ConversionError: no `tokenizer.json` gives the same ids.
    """
    from tokbench.opening.added_tokens import without_empty
    from tokbench.opening.files import parse_json, read_file

    if opened.source.format is Format.TOKENIZER_JSON:
        path = opened.source.files[0]
        data = read_file(path)
        data, document = without_empty(data, parse_json(data, path=path))
        return _with_ids_in_use(dict(document), data)
    return dict(parse_json(tokenizer_json_of(source_of(opened.tokenizer)), path=opened.source.path))


def _with_ids_in_use(document: dict[str, Any], data: bytes) -> dict[str, Any]:
    """Set the ids of added tokens to the library's, which prefers ids of the vocabulary to those in `added_tokens`."""
    if not document.get("added_tokens"):
        return document
    from tokenizers import Tokenizer

    library = Tokenizer.from_buffer(data)
    added = [{**token, "id": library.token_to_id(token["content"])} for token in document["added_tokens"]]
    return {**document, "added_tokens": added}
