"""A pruned tokenizer: its files, and what was proved of them before anything is written."""

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
    """What was checked before anything was written.

    Attributes:
        tokens: that stay, each with the bytes that it had.
        made: of these, those that merging makes, each of the same two tokens as before; of other algorithms those
            that text is cut into, each as good as before.
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
    """A tokenizer without some of its tokens.

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
    from tokbench.opening.added_tokens import without_empty
    from tokbench.opening.files import parse_json, read_file

    if opened.source.format is Format.TOKENIZER_JSON:
        path = opened.source.files[0]
        data = read_file(path)
        data, document = without_empty(data, parse_json(data, path=path))
        return _with_ids_in_use(dict(document), data)
    return dict(parse_json(tokenizer_json_of(source_of(opened.tokenizer)), path=opened.source.path))


def _with_ids_in_use(document: dict[str, Any], data: bytes) -> dict[str, Any]:
    """With the ids that the library gives added tokens: it heeds its vocabulary before those that the file states."""
    if not document.get("added_tokens"):
        return document
    from tokenizers import Tokenizer

    library = Tokenizer.from_buffer(data)
    added = [{**token, "id": library.token_to_id(token["content"])} for token in document["added_tokens"]]
    return {**document, "added_tokens": added}
