"""SentencePiece models with pieces appended or removed, and unchanged options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokbench.formats.protobuf import fields, length_field, varint_field, written_field
from tokbench.formats.sentencepiece.model import TRAINER_FIELDS, dump_model, parse_model
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.surgery.id_map import IdMap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokbench.formats.sentencepiece.pieces import ModelPiece


_PIECES, _TRAINER, _SELF_TEST = 1, 2, 4
_ROLE_IDS = ("unk_id", "bos_id", "eos_id", "pad_id")


def extended_model(proto: bytes, pieces: Sequence[ModelPiece]) -> bytes:
    """Append pieces to a `ModelProto`; everything else is kept, except the self-test.

    Args:
        proto: the serialized model.
        pieces: the new pieces.

    >>> from tokbench.formats.sentencepiece.model import ModelPiece
    >>> proto = dump_model([ModelPiece("<unk>", 0.0, PieceType.UNKNOWN)], trainer={"unk_id": 0}, normalizer={})
    >>> made = parse_model(extended_model(proto, [ModelPiece("a", -1.0, PieceType.NORMAL)]))
    >>> [piece.text for piece in made.pieces], made.trainer["vocab_size"]
    (['<unk>', 'a'], 2)
    """
    size = len(parse_model(proto).pieces)
    every = range(size)
    same = pruned_model(proto, IdMap.of_pairs(zip(every, every, strict=True), sizes=(size, size)))
    counted = varint_field(TRAINER_FIELDS["vocab_size"].number, size + len(pieces))
    # Readers take the last occurrence of a repeated scalar field; pieces may be anywhere in the message.
    return same + dump_model(pieces, trainer={}, normalizer={}) + length_field(_TRAINER, counted)


def scores_below(pieces: Iterable[ModelPiece], *, number: int) -> list[float]:
    """Return descending single-precision scores, all below those of the existing mergeable pieces.

    >>> from tokbench.formats.sentencepiece.model import ModelPiece
    >>> scores_below([ModelPiece("ab", -3.0, PieceType.NORMAL)], number=2)
    [-4.0, -5.0]
    """
    merged = (piece.score for piece in pieces if piece.type in (PieceType.NORMAL, PieceType.UNUSED))
    score, found = np.float32(min(merged, default=0.0)), []
    for _ in range(number):
        score = min(score - np.float32(1), np.nextafter(score, np.float32(-np.inf)))
        found.append(float(score))
    return found


def pruned_model(proto: bytes, id_map: IdMap) -> bytes:
    """Remove the pieces without a new id from a `ModelProto`; scores, tables and options are kept.

    The self-test, which lists the segmentations of some texts, is dropped: the library rejects a model that fails it.

    Args:
        proto: the serialized model.
        id_map: the map from its ids to the new ids, which must preserve the order.

    >>> from tokbench.formats.sentencepiece.model import ModelPiece, PieceType
    >>> from tokbench.formats.sentencepiece.model import dump_model
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
    # Readers take the last occurrence of a repeated scalar field.
    trainer = b"".join(varint_field(TRAINER_FIELDS[name].number, value) for name, value in changed.items())
    made, id = [], 0
    for number, value in fields(proto):
        if number == _PIECES:
            stays, id = id_map.new(id) is not None, id + 1
        else:
            stays = number != _SELF_TEST
        if stays:
            made.append(written_field(number, value))
    # Readers merge repeated occurrences of an embedded message.
    return b"".join([*made, length_field(_TRAINER, trainer)])
