"""Tests for folders whose tokenizer class renumbers the pieces of its SentencePiece model by a rule."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest
from support.model_folders import put
from support.sentencepiece_models import scored, unknown, written
from support.small_files import opened

import tokbench
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ModelFormatError
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


def test_ids_follow_fairseqs_rule(tmp_path: Path) -> None:
    tokenizer: Any = tokbench.load(put(tmp_path, {NAME: written(PIECES), **XLM}))
    assert tokenizer.with_template("hi?") == [0, 4, 5, 3, 2]
    assert tokenizer.with_template("hi", "h") == [0, 4, 5, 2, 2, 4, 6, 2]
    assert tokenizer.encode("hi<mask>", special=SpecialPolicy.ENCODE) == [4, 5, 7]
    assert tokenizer.info.vocab_size == 8
    assert tokenizer.role_ids == {"bos": 0, "eos": 2, "pad": 1, "unk": 3, "mask": 7, "cls": 0, "sep": 2}
    assert tokenizer.info.kernel == "native"


def test_unknown_fields_of_the_model_are_kept_and_its_self_test_is_dropped(tmp_path: Path) -> None:
    self_test = length_field(4, length_field(1, length_field(1, b"hi") + length_field(2, b"hi")))
    odd = written(PIECES) + varint_field(200, 7) + self_test
    tokenizer: Any = tokbench.load(put(tmp_path, {NAME: odd, **XLM}))
    assert tokenizer.encode("hi?") == [4, 5, 3]
    assert tokenizer.model.trainer["vocab_size"] == 8


def test_saved_folder_keeps_the_renumbered_ids(tmp_path: Path) -> None:
    tokenizer: Any = tokbench.load(put(tmp_path / "in", {NAME: written(PIECES), **XLM}))
    tokenizer.save(tmp_path / "out")
    saved: Any = tokbench.load(tmp_path / "out")
    assert saved.encode("hi?") == [4, 5, 3]
    assert saved.with_template("hi", "h") == tokenizer.with_template("hi", "h") == [0, 4, 5, 2, 2, 4, 6, 2]


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (b"[]", "a template around texts"),
        (b'{"post_processor": {"type": "Other"}}', "a template around texts"),
        (b"{", "JSON"),
        (b"[" * 100_000, "JSON"),
        (b'{"post_processor":' * 1_000 + b"1" + b"}" * 1_000, "JSON of at most"),
    ],
    ids=["list", "other", "cut", "open", "deep"],
)
def test_a_damaged_template_of_a_saved_folder_is_refused(
    tmp_path: Path, damage: bytes, expected: str
) -> None:
    tokbench.load(put(tmp_path / "in", {NAME: written(PIECES), **XLM})).save(tmp_path / "out")
    template, manifest = tmp_path / "out" / "post_processing.json", tmp_path / "out" / "tokbench.json"
    hashes = [hashlib.sha256(data).hexdigest() for data in (template.read_bytes(), damage)]
    template.write_bytes(damage)
    manifest.write_text(manifest.read_text().replace(*hashes))
    with pytest.raises(ModelFormatError, match=rf"post_processing\.json: expected {expected}"):
        tokbench.load(tmp_path / "out")


@pytest.mark.parametrize(
    ("pieces", "beside"),
    [
        (PIECES, {}),
        (PIECES, {"tokenizer_config.json": {"tokenizer_class": "LlamaTokenizer"}, **XLM}),
        ([PIECES[0], *PIECES[3:]], XLM),
        ([*PIECES, ModelPiece("<mask>", 0.0, PieceType.CONTROL)], XLM),
    ],
)
def test_model_of_another_class_keeps_its_ids(
    tmp_path: Path, pieces: list[ModelPiece], beside: dict[str, Any]
) -> None:
    tokenizer = tokbench.load(put(tmp_path, {NAME: written(pieces), **beside}))
    assert tokenizer.encode("hi") == [id for id, piece in enumerate(pieces) if piece.text in ("▁", "hi")]


def test_model_named_by_its_file_keeps_its_ids(tmp_path: Path) -> None:
    put(tmp_path, {NAME: written(PIECES), **XLM})
    assert opened(tmp_path / NAME).tokenizer.encode("hi") == [3, 4]


@pytest.mark.parametrize(
    ("name", "ids", "rows", "others"),
    [
        ("LayoutXLMTokenizer", [4, 5, 3], [[0, 4, 5, 2], [0, 4, 5, 2, 2, 4, 6, 2]], {"<mask>": 7}),
        (
            "CamembertTokenizer",
            [7, 8, 3],
            [[5, 7, 8, 6], [5, 7, 8, 6, 6, 7, 9, 6]],
            {"<mask>": 10, "<pad>": 1},
        ),
        ("MBartTokenizer", [4, 5, 3], [[4, 5, 2, 10], [4, 5, 4, 6, 2, 10]], {"zh_CN": 31, "<mask>": 32}),
        ("MBart50Tokenizer", [4, 5, 3], [[10, 4, 5, 2], [10, 4, 5, 4, 6, 2]], {"sl_SI": 58, "<mask>": 59}),
        ("NllbTokenizer", [4, 5, 3], [[53, 4, 5, 2], [53, 4, 5, 4, 6, 2]], {"zul_Latn": 208, "<mask>": 209}),
        ("PLBartTokenizer", [4, 5, 3], [[4, 5, 2], [4, 5, 4, 6, 2]], {"__en_XX__": 9, "<mask>": 10}),
        ("XGLMTokenizer", [4, 5, 3], [[2, 4, 5], [2, 4, 5, 2, 2, 4, 6]], {"<madeupword6>": 13}),
        ("SeamlessM4TTokenizer", [4, 5, 1], [[4, 5, 3], [4, 5, 4, 6, 3]], {"<pad>": 0, "<s>": 2}),
    ],
)
def test_class_specific_tokens_have_their_ids(
    tmp_path: Path, name: str, ids: list[int], rows: list[list[int]], others: dict[str, int]
) -> None:
    beside = {"tokenizer_config.json": {"tokenizer_class": name}}
    tokenizer: Any = tokbench.load(put(tmp_path, {NAME: written(PIECES), **beside}))
    assert tokenizer.encode("hi?") == ids
    assert [tokenizer.with_template("hi"), tokenizer.with_template("hi", "h")] == rows
    assert others.items() <= dict(tokenizer.info.special_tokens).items()
    assert tokenizer.info.vocab_size == 1 + max([6, *tokenizer.info.special_tokens.values()])


@pytest.mark.parametrize(
    ("name", "settings", "single"),
    [
        ("MBartTokenizer", {"src_lang": "ro_RO"}, [4, 5, 2, 26]),
        ("NllbTokenizer", {"legacy_behaviour": True, "src_lang": "fra_Latn"}, [4, 5, 2, 63]),
        ("PLBartTokenizer", {"language_codes": "multi", "src_lang": "go"}, [4, 5, 2, 13]),
    ],
)
def test_language_settings_change_the_template(
    tmp_path: Path, name: str, settings: dict[str, Any], single: list[int]
) -> None:
    beside = {"tokenizer_config.json": {"tokenizer_class": name, **settings}}
    tokenizer: Any = tokbench.load(put(tmp_path, {NAME: written(PIECES), **beside}))
    assert tokenizer.with_template("hi") == single


def test_tokens_listed_for_nllb_have_their_ids(tmp_path: Path) -> None:
    listed = {
        "7": {"content": "<mask>", "lstrip": True, "special": True},
        "8": {"content": "eng_Latn", "special": True},
    }
    beside = {"tokenizer_config.json": {"tokenizer_class": "NllbTokenizer", "added_tokens_decoder": listed}}
    model = opened(put(tmp_path, {NAME: written(PIECES), **beside}))
    tokenizer: Any = model.tokenizer
    assert tokenizer.with_template("hi") == [8, 4, 5, 2]
    assert tokenizer.info.vocab_size == 9
    assert [warning for warning in model.warnings if "tokenizer.json" in warning] == []
    assert "cannot match white space around tokens, which '<mask>' requires" in model.warnings[0]
    assert not any("versions of a NllbTokenizer differ" in warning for warning in model.warnings)


def test_unlisted_ids_of_nllb_are_reported(tmp_path: Path) -> None:
    beside = {"tokenizer_config.json": {"tokenizer_class": "NllbTokenizer"}}
    warnings = opened(put(tmp_path, {NAME: written(PIECES), **beside})).warnings
    told = "of which versions of a NllbTokenizer differ: here <mask> is the last"
    assert [warning for warning in warnings if told in warning] != []


PEGASUS = [
    *(ModelPiece(text, 0.0, PieceType.CONTROL) for text in ("<pad>", "</s>")),
    unknown(),
    *scored({"▁": -2.0, "hi": -1.0, "h": -3.0}),
]


@pytest.mark.parametrize(("settings", "first"), [({}, 105), ({"offset": 4}, 6), ({"offset": 0}, 2)])
def test_pegasus_inserts_tokens_after_its_first_two(
    tmp_path: Path, settings: dict[str, Any], first: int
) -> None:
    beside = {"tokenizer_config.json": settings, "config.json": {"model_type": "pegasus"}}
    tokenizer: Any = tokbench.load(put(tmp_path, {"spiece.model": written(PEGASUS), **beside}))
    assert tokenizer.with_template("hi?") == [first + 1, first + 2, first, 1]
    assert ("<mask_2>" in tokenizer.info.special_tokens) == (first > 2)
    assert (f"<unk_{first - 3}>" in tokenizer.info.special_tokens) == (first > 2)
