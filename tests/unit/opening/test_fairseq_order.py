"""A folder of XLM-RoBERTa with its SentencePiece model alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.model_folders import put
from support.sentencepiece_models import scored, unknown, written
from support.small_files import opened

import tokbench
from tokbench.core.tokens import SpecialPolicy
from tokbench.formats.protobuf import length_field, varint_field
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType

if TYPE_CHECKING:
    from pathlib import Path

NAME = "sentencepiece.bpe.model"
PIECES = [
    unknown(),
    *(ModelPiece(text, 0.0, PieceType.CONTROL) for text in ("<s>", "</s>")),
    *scored({"▁": -2.0, "hi": -1.0, "h": -3.0}),
]
XLM = {"config.json": {"model_type": "xlm-roberta"}}


def test_ids_are_those_of_fairseqs_rule(tmp_path: Path) -> None:
    tokenizer: Any = tokbench.load(put(tmp_path, {NAME: written(PIECES), **XLM}))
    assert tokenizer.with_template("hi?") == [0, 4, 5, 3, 2]
    assert tokenizer.with_template("hi", "h") == [0, 4, 5, 2, 2, 4, 6, 2]
    assert tokenizer.encode("hi<mask>", special=SpecialPolicy.ENCODE) == [4, 5, 7]
    assert tokenizer.info.vocab_size == 8
    assert tokenizer.role_ids == {
        "bos": 0,
        "eos": 2,
        "pad": 1,
        "unk": 3,
        "mask": 7,
        "cls": 0,
        "sep": 2,
    }
    assert tokenizer.info.kernel == "native"


def test_what_else_a_file_has_is_kept_and_its_self_test_is_not(tmp_path: Path) -> None:
    self_test = length_field(4, length_field(1, length_field(1, b"hi") + length_field(2, b"hi")))
    odd = written(PIECES) + varint_field(200, 7) + self_test
    tokenizer: Any = tokbench.load(put(tmp_path, {NAME: odd, **XLM}))
    assert tokenizer.encode("hi?") == [4, 5, 3]
    assert tokenizer.model.trainer["vocab_size"] == 8


def test_it_is_saved_with_these_ids(tmp_path: Path) -> None:
    tokenizer: Any = tokbench.load(put(tmp_path / "in", {NAME: written(PIECES), **XLM}))
    tokenizer.save(tmp_path / "out")
    assert tokbench.load(tmp_path / "out").encode("hi?") == [4, 5, 3]


@pytest.mark.parametrize(
    ("pieces", "beside"),
    [
        (PIECES, {}),
        (PIECES, {"tokenizer_config.json": {"tokenizer_class": "LlamaTokenizer"}, **XLM}),
        ([PIECES[0], *PIECES[3:]], XLM),
        ([*PIECES, ModelPiece("<mask>", 0.0, PieceType.CONTROL)], XLM),
    ],
)
def test_another_model_keeps_its_ids(
    tmp_path: Path, pieces: list[ModelPiece], beside: dict[str, Any]
) -> None:
    tokenizer = tokbench.load(put(tmp_path, {NAME: written(pieces), **beside}))
    assert tokenizer.encode("hi") == [id for id, piece in enumerate(pieces) if piece.text in ("▁", "hi")]


def test_a_model_by_its_own_name_keeps_its_ids(tmp_path: Path) -> None:
    put(tmp_path, {NAME: written(PIECES), **XLM})
    assert opened(tmp_path / NAME).tokenizer.encode("hi") == [3, 4]
