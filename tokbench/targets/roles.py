"""What the special tokens of a tokenizer are to a model, where the tokenizer itself says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.models import HuggingFaceModel, SentencePieceModel

if TYPE_CHECKING:
    from tokbench.targets import Source

_OF_BERT = {"unk": "[UNK]", "sep": "[SEP]", "pad": "[PAD]", "cls": "[CLS]", "mask": "[MASK]"}
_OF_SENTENCEPIECE = ("bos", "eos", "pad")


def known_roles(source: Source) -> dict[str, str]:
    """Role → special token: what a SentencePiece model says, and the names that BERT gave to those of WordPiece.

    >>> from types import SimpleNamespace as Made
    >>> added = b'{"id": 1, "content": "[SEP]", "special": true}'
    >>> document = b'{"model": {"type": "WordPiece"}, "added_tokens": [%s]}' % added
    >>> known_roles(Made(description=HuggingFaceModel(document)))
    {'sep': '[SEP]'}
    """
    match source.description:
        case SentencePieceModel(proto=proto):
            return _of_sentencepiece(proto)
        case HuggingFaceModel(document=document):
            return _of_bert(document)
        case _:
            return {}


def _of_sentencepiece(proto: bytes) -> dict[str, str]:
    from tokbench.formats.sentencepiece_model import parse_model, special_tokens_of

    model = parse_model(proto)
    names = {role: model.trainer[f"{role}_piece"] for role in _OF_SENTENCEPIECE}
    controls = special_tokens_of(model)
    return {role: name for role, name in names.items() if controls.get(name) == model.trainer[f"{role}_id"]}


def _of_bert(data: bytes) -> dict[str, str]:
    from tokbench.adapters.huggingface_document import model_type, parse_document, special_contents

    document = parse_document(data, source="the tokenizer")
    if model_type(document) != "WordPiece":
        return {}
    special = special_contents(document)
    return {role: text for role, text in _OF_BERT.items() if text in special}
