"""The model that surgery changes: the file content that holds a tokenizer's tokens, and its algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tokbench.core.descriptions import DescribesItself, SentencePieceModel
from tokbench.formats.sentencepiece.model import ModelType, parse_model
from tokbench.libraries.huggingface.tokenizer_json import model_type
from tokbench.lint.reachability.steps import DocumentSteps
from tokbench.surgery.pruned_tokenizer import document_of

if TYPE_CHECKING:
    from tokbench.opening.request import Opened

Algorithm = Literal["bpe", "character_bpe", "unigram", "wordpiece"]
"""Algorithms whose vocabularies can change; the wording of proofs depends on it."""

Content = bytes | Mapping[str, Any]
"""A serialized `ModelProto`, or a parsed `tokenizer.json`."""

_MODEL_ALGORITHMS: dict[ModelType, Algorithm] = {ModelType.UNIGRAM: "unigram", ModelType.BPE: "character_bpe"}
_DOCUMENT_ALGORITHMS: dict[str, Algorithm] = {"Unigram": "unigram", "WordPiece": "wordpiece"}


class Contents(NamedTuple):
    """The content to change, its algorithm (None if unsupported), and the library's name of the algorithm."""

    algorithm: Algorithm | None
    content: Content
    kind: str


def contents_of(opened: Opened) -> Contents:
    """Return a tokenizer's SentencePiece model if it has one of a supported type, otherwise its `tokenizer.json`.

    Raises:
        ConversionError: no `tokenizer.json` gives the same ids.
    """
    described = opened.tokenizer.description() if isinstance(opened.tokenizer, DescribesItself) else None
    if isinstance(described, SentencePieceModel):
        kind = parse_model(described.proto).model_type
        if kind in _MODEL_ALGORITHMS:
            return Contents(_MODEL_ALGORITHMS[kind], described.proto, kind.name)
    document = document_of(opened)
    name = model_type(document)
    if name == "BPE":
        is_of_bytes = DocumentSteps(document).is_byte_level
        return Contents("bpe" if is_of_bytes else "character_bpe", document, name)
    return Contents(_DOCUMENT_ALGORITHMS.get(name), document, name)
