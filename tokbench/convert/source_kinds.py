"""What a source is, in words, for the sentence that refuses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.descriptions import ByteLevelBpe, HuggingFaceModel, SentencePieceModel

if TYPE_CHECKING:
    from tokbench.core.descriptions import Description


def kind_of(description: Description) -> str:
    """A description as the end of "this is …".

    >>> kind_of(HuggingFaceModel(b'{"model": {"type": "WordPiece"}}'))
    'a tokenizer.json of WordPiece'
    """
    match description:
        case ByteLevelBpe():
            return "a byte-level BPE"
        case SentencePieceModel(proto=proto):
            from tokbench.formats.sentencepiece.model import parse_model

            return f"a SentencePiece {parse_model(proto).model_type.name.lower()} model"
        case HuggingFaceModel(document=data):
            from tokbench.libraries.huggingface.tokenizer_json import model_type, parse_tokenizer_json

            return f"a tokenizer.json of {model_type(parse_tokenizer_json(data, source='the tokenizer'))}"
