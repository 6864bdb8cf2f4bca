"""The model that surgery changes: the file content that holds a tokenizer's tokens, and its algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tokbench.convert.conversion import Source
from tokbench.convert.targets.tokenizers import tokenizer_json_of
from tokbench.core.descriptions import DescribesItself, SentencePieceModel
from tokbench.errors import SurgeryError
from tokbench.formats.sentencepiece.model import ModelType, parse_model
from tokbench.libraries.huggingface.tokenizer_json import model_type
from tokbench.lint.reachability.steps import DocumentSteps
from tokbench.opening.recognition import Format

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer
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
    described = source_of(opened.tokenizer).description
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


def document_of(opened: Opened) -> dict[str, Any]:
    """Return a tokenizer as a parsed `tokenizer.json`: its own file, or the result of a conversion.

    Added tokens that only the files beside it list are included, as they are when it is opened.

    Raises:
        SurgeryError: nothing describes the tokenizer in terms of other formats.
        ConversionError: no `tokenizer.json` gives the same ids.
    """
    from tokbench.opening.added_tokens import completed, without_empty
    from tokbench.opening.files import parse_json, read_file

    if opened.source.format is Format.TOKENIZER_JSON:
        path = opened.source.files[0]
        data = read_file(path)
        data, document, _ = completed(data, parse_json(data, path=path), opened.source.config)
        data, document = without_empty(data, document)
        return _with_ids_in_use(dict(document), data)
    source = source_of(opened.tokenizer)
    if source.description is None:
        raise SurgeryError(
            f"the backend {opened.tokenizer.info.backend!r} does not describe its tokenizers in terms of other formats",
            hint="tokens can be added and removed where the algorithm is BPE, Unigram or WordPiece",
        )
    return dict(parse_json(tokenizer_json_of(source), path=opened.source.path))


def _with_ids_in_use(document: dict[str, Any], data: bytes) -> dict[str, Any]:
    """Set the ids of added tokens to the library's, which prefers ids of the vocabulary to those in `added_tokens`."""
    if not document.get("added_tokens"):
        return document
    from tokenizers import Tokenizer

    library = Tokenizer.from_buffer(data)
    added = [{**token, "id": library.token_to_id(token["content"])} for token in document["added_tokens"]]
    return {**document, "added_tokens": added}


def source_of(tokenizer: Tokenizer) -> Source:
    """Return a tokenizer as a `Source` for conversions."""
    described = tokenizer.description() if isinstance(tokenizer, DescribesItself) else None
    return Source(tokenizer=tokenizer, description=described)
