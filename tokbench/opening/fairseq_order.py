"""SentencePiece models of XLM-RoBERTa, whose pieces have the ids of fairseq's rule, in the order of those ids.

Source: `XLMRobertaTokenizer` of transformers 4; version 5 counts alike.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.formats.protobuf import fields, length_field, varint_field, written_field
from tokbench.formats.sentencepiece.model import TRAINER_FIELDS, dump_piece
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.opening.tokenizer_classes import json_beside, read_declared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.opening.recognition import Source

_CLASS, _MODEL = "XLMRobertaTokenizer", "xlm-roberta"
_BEGIN = ["<unk>", "<s>", "</s>"]
_ROLES = {"cls": "<s>", "sep": "</s>", "mask": "<mask>"}
_PIECES, _TRAINER, _SELF_TEST = 1, 2, 4
_IDS = {"unk_id": 3, "bos_id": 0, "eos_id": 2, "pad_id": 1}


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
    pieces, others = [], []
    for number, value in fields(proto):
        if number == _PIECES:
            pieces.append(written_field(number, value))
        elif number != _SELF_TEST:
            others.append(written_field(number, value))
    ordered = [*map(_control, ("<s>", "<pad>", "</s>")), pieces[0], *pieces[3:], _control("<mask>")]
    options = {"vocab_size": len(ordered), **_IDS}
    # Of a field that stands twice, a reader takes the last one; of a message, it joins the fields.
    trainer = b"".join(varint_field(TRAINER_FIELDS[name].number, value) for name, value in options.items())
    config = replace(source.config, tokenizer_class=_CLASS, roles={**_ROLES, **source.config.roles})
    made = b"".join([*ordered, *others, length_field(_TRAINER, trainer)])
    return made, replace(source, config=config)


def _control(text: str) -> bytes:
    return dump_piece(ModelPiece(text, 0.0, PieceType.CONTROL))
