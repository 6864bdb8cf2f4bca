"""SentencePiece models of XLM-RoBERTa, whose pieces have the ids of fairseq's rule, in the order of those ids.

Source: `XLMRobertaTokenizer` of transformers 4; version 5 counts alike.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.formats.protobuf import fields, float_field, length_field, varint_field
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.opening.tokenizer_classes import json_beside, read_declared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.opening.recognition import Source

_CLASS, _MODEL = "XLMRobertaTokenizer", "xlm-roberta"
_BEGIN = ["<unk>", "<s>", "</s>"]
_ROLES = {"cls": "<s>", "sep": "</s>", "mask": "<mask>"}
_PIECES, _TRAINER = 1, 2
_IDS = {40: 3, 41: 0, 42: 2, 43: 1}
"""The trainer's options of the ids of <unk>, <s>, </s> and <pad>."""


def has_fairseq_order(source: Source, texts: Sequence[str]) -> bool:
    """Whether the class of a folder counts by fairseq's rule; of a file by its name the ids are always its own.

    Args:
        source: the model, and what the user named.
        texts: the pieces of the model, by their ids.
    """
    folder = source.files[0].parent
    if not source.path.is_dir() or list(texts[:3]) != _BEGIN or {"<pad>", "<mask>"} & set(texts):
        return False
    named = read_declared(folder, source.config).class_name
    return named == _CLASS or (
        named is None and json_beside(folder / "config.json").get("model_type") == _MODEL
    )


def in_fairseq_order(proto: bytes, source: Source) -> tuple[bytes, Source]:
    """A model with fairseq's four tokens in place of its own three, one more after them, and its source with roles."""
    pieces: list[bytes] = []
    rest = b""
    for number, value in fields(proto):
        assert isinstance(value, bytes)
        if number == _PIECES:
            pieces.append(value)
        else:
            rest += length_field(number, value)
    ordered = [*map(_control, ("<s>", "<pad>", "</s>")), pieces[0], *pieces[3:], _control("<mask>")]
    ids = b"".join(varint_field(number, id) for number, id in _IDS.items())
    made = b"".join(length_field(_PIECES, piece) for piece in ordered) + rest + length_field(_TRAINER, ids)
    config = replace(source.config, tokenizer_class=_CLASS, roles={**_ROLES, **source.config.roles})
    return made, replace(source, config=config)


def _control(text: str) -> bytes:
    return length_field(1, text.encode()) + float_field(2, 0.0) + varint_field(3, int(PieceType.CONTROL))
