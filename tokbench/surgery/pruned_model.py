"""A SentencePiece model from which pieces went: the same options, and other ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.formats.protobuf import fields, length_field, varint_field
from tokbench.formats.sentencepiece.model import TRAINER_FIELDS, parse_model

if TYPE_CHECKING:
    from tokbench.surgery.id_map import IdMap

_PIECES, _TRAINER, _SELF_TEST = 1, 2, 4
_ROLE_IDS = ("unk_id", "bos_id", "eos_id", "pad_id")


def pruned_model(proto: bytes, id_map: IdMap) -> bytes:
    """A `ModelProto` without the pieces that have no new id; scores, tables and options stay as they are.

    Its self-test, which lists what some texts become, is left out: the library would refuse a model that fails it.

    Args:
        proto: the serialised model.
        id_map: from its ids to the new ones, which keep their order.

    >>> from tokbench.formats.sentencepiece.model import ModelPiece, PieceType
    >>> from tokbench.formats.sentencepiece.writing import dump_model
    >>> from tokbench.surgery.id_map import IdMap
    >>> pieces = [ModelPiece("a", -1.0, PieceType.NORMAL), ModelPiece("<unk>", 0.0, PieceType.UNKNOWN)]
    >>> proto = dump_model(pieces, trainer={"vocab_size": 2, "unk_id": 1}, normalizer={})
    >>> made = parse_model(pruned_model(proto, IdMap.closing_up([1], size=2)))
    >>> made.pieces, made.trainer["vocab_size"], made.trainer["unk_id"]
    ((ModelPiece(text='<unk>', score=0.0, type=<PieceType.UNKNOWN: 2>),), 1, 0)
    """
    before = parse_model(proto).trainer
    changed = {"vocab_size": len(id_map.new_to_old)}
    for role in _ROLE_IDS:
        new = id_map.new(before[role])
        changed[role] = -1 if new is None else new
    # Of a field that stands twice, a reader takes the last one.
    trainer = b"".join(varint_field(TRAINER_FIELDS[name].number, value) for name, value in changed.items())
    made, id = [], 0
    for number, value in fields(proto):
        if number == _PIECES:
            stays, id = id_map.new(id) is not None, id + 1
        else:
            stays = number != _SELF_TEST
        if stays:
            made.append(_field(number, value))
    # Of a message that stands twice, a reader joins the fields.
    return b"".join([*made, length_field(_TRAINER, trainer)])


def _field(number: int, value: int | bytes) -> bytes:
    return varint_field(number, value) if isinstance(value, int) else length_field(number, value)
