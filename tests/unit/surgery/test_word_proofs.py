"""Tests that comparing words notices other tokens and texts, and that models lose only the removed pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.sentencepiece_models import scored, unknown, written

from tokbench.errors import ConversionError
from tokbench.formats.protobuf import fields, length_field
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.libraries.sentencepiece.models import open_model
from tokbench.surgery.documents import pruned_model
from tokbench.surgery.id_map import IdMap
from tokbench.surgery.proofs import check_words

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer
    from tokbench.surgery.proofs import SegmentationProof

SCORES = {"▁": -2.0, "a": -2.0, "b": -2.0, "ab": -1.0, "▁ab": -1.0, "▁a": -2.0, "bb": -4.5}
OLD = [unknown(), ModelPiece("</s>", 0.0, PieceType.CONTROL), *scored(SCORES)]
MAP = IdMap.closing_up([0, 1, 2, 3, 4, 5, 7, 8], size=9)
"""The map that removes ▁ab."""
NEW = [OLD[id] for id in MAP.new_to_old]
TEXTS = ["ab aab", "abx bb"]


def opened(pieces: list[ModelPiece]) -> Tokenizer:
    return open_model(written(pieces, trainer={"vocab_size": len(pieces)}), name="it")


def compared(new: list[ModelPiece]) -> SegmentationProof:
    return check_words(TEXTS, tokenizers=(opened(OLD), opened(new)), id_map=MAP)


def test_correct_pruning_is_counted() -> None:
    """Of the words "ab", "aab", "abx" and "bb", the first and the third contain ▁ab."""
    proof = compared(NEW)
    assert (proof.texts, proof.unchanged, proof.changed) == (2, 2, 2)


def with_scores(**scores: float) -> list[ModelPiece]:
    return [piece._replace(score=scores.get(piece.text, piece.score)) for piece in NEW]


def test_changed_tokens_are_detected() -> None:
    """The piece bb wins where b + b was best."""
    with pytest.raises(
        ConversionError, match='"bb" would get different tokens, although all of its tokens remain'
    ):
        compared(with_scores(bb=-0.5))


def test_changed_text_is_detected() -> None:
    """The pieces that begin words in place of ▁ab spell another text."""
    other = [piece._replace(text={"▁": "z", "▁a": "zz"}.get(piece.text, piece.text)) for piece in NEW]
    with pytest.raises(ConversionError, match="would decode to a different text"):
        compared(other)


def test_pruned_model_loses_its_pieces_and_its_self_test() -> None:
    trainer = {"vocab_size": 9, "unk_id": 0, "bos_id": -1, "eos_id": 1, "pad_id": 6, "byte_fallback": False}
    sample = length_field(4, length_field(1, length_field(1, b"ab") + length_field(2, "▁ab".encode())))
    proto = written(OLD, trainer=trainer, normalizer={"add_dummy_prefix": False}) + sample
    model = parse_model(pruned_model(proto, MAP))
    before = parse_model(proto)
    assert list(model.pieces) == NEW
    assert model.normalizer == before.normalizer
    assert model.trainer == {**before.trainer, "vocab_size": 8, "pad_id": -1}
    assert [4 in {number for number, _ in fields(data)} for data in (proto, pruned_model(proto, MAP))] == [
        True,
        False,
    ]
    assert open_model(pruned_model(proto, MAP), name="it").encode("ab") == [5]
