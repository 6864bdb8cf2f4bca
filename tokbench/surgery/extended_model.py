"""A SentencePiece model with more pieces behind its own: the same options, the same ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokbench.formats.protobuf import length_field, varint_field
from tokbench.formats.sentencepiece.model import TRAINER_FIELDS, parse_model
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.formats.sentencepiece.writing import dump_model
from tokbench.surgery.id_map import IdMap
from tokbench.surgery.pruned_model import pruned_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokbench.formats.sentencepiece.pieces import ModelPiece

_TRAINER = 2


def extended_model(proto: bytes, pieces: Sequence[ModelPiece]) -> bytes:
    """A `ModelProto` with pieces behind its own; what else it holds stays, but for the self-test.

    Args:
        proto: the serialised model.
        pieces: the new ones.

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
    # Of a field that stands twice, a reader takes the last one; pieces may stand anywhere.
    return same + dump_model(pieces, trainer={}, normalizer={}) + length_field(_TRAINER, counted)


def scores_below(pieces: Iterable[ModelPiece], *, number: int) -> list[float]:
    """Scores in single precision, each below the one before it, and all below those that are merged.

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
