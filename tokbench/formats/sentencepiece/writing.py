"""Writing SentencePiece's `.model`: pieces and options as a serialised `ModelProto`."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from tokbench.formats.protobuf import float_field, length_field, varint_field
from tokbench.formats.sentencepiece.model import NORMALIZER_FIELDS, TRAINER_FIELDS
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tokbench.formats.sentencepiece.model import SpecField

_BEGIN, _END = struct.Struct("<4B"), struct.Struct("<BfBB")
_SHORT = 0x80 - 9
"""Bytes of a text that is too long for lengths of one byte: with its key, its score and its type."""
_ROLES = {"bos": "<s>", "eos": "</s>", "pad": "<pad>"}


def dump_model(
    pieces: Iterable[ModelPiece], *, trainer: Mapping[str, Any], normalizer: Mapping[str, Any]
) -> bytes:
    """The bytes of a `.model` file; of the options, those that are given."""
    return (
        b"".join(map(_piece, pieces))
        + length_field(2, _options(trainer, TRAINER_FIELDS))
        + length_field(3, _options(normalizer, NORMALIZER_FIELDS))
    )


def role_ids(pieces: Sequence[ModelPiece]) -> dict[str, int]:
    """The ids of the roles that control symbols have by their usual names, as trainer's options; -1 for none.

    >>> role_ids([ModelPiece("</s>", 0.0, PieceType.CONTROL)])
    {'bos_id': -1, 'eos_id': 0, 'pad_id': -1}
    """
    controls = {piece.text: id for id, piece in enumerate(pieces) if piece.type is PieceType.CONTROL}
    return {f"{role}_id": controls.get(text, -1) for role, text in _ROLES.items()}


def _piece(piece: ModelPiece) -> bytes:
    text = piece.text.encode()
    if len(text) < _SHORT:  # as it is written field by field, four times as fast
        size = len(text)
        return _BEGIN.pack(0x0A, size + 9, 0x0A, size) + text + _END.pack(0x15, piece.score, 0x18, piece.type)
    fields = length_field(1, text) + float_field(2, piece.score) + varint_field(3, int(piece.type))
    return length_field(1, fields)


def _options(values: Mapping[str, Any], known: Mapping[str, SpecField]) -> bytes:
    return b"".join(_option(value, known[name]) for name, value in values.items())


def _option(value: Any, field: SpecField) -> bytes:
    if field.kind == "texts":
        return b"".join(length_field(field.number, text.encode()) for text in value)
    if field.kind == "float":
        return float_field(field.number, value)
    data = value.encode() if isinstance(value, str) else value
    return (
        length_field(field.number, data) if isinstance(data, bytes) else varint_field(field.number, int(data))
    )
