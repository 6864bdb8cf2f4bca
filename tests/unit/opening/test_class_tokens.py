"""Tests for the special tokens that a tokenizer class gives a vocabulary if no file names them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.model_folders import put
from support.sentencepiece_models import scored, written

import tokbench
from tokbench.core.tokens import SpecialPolicy
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType

if TYPE_CHECKING:
    from pathlib import Path

CONTROLS = [ModelPiece(text, 0.0, PieceType.CONTROL) for text in ("[PAD]", "[CLS]", "[SEP]")]
PIECES = [*CONTROLS, ModelPiece("[UNK]", 0.0, PieceType.UNKNOWN), *scored({"▁": -2.0, "▁hi": -1.0})]


def loaded(folder: Path, files: dict[str, Any]) -> Any:
    return tokbench.load(put(folder, {"spm.model": written(PIECES), **files}))


def test_a_class_has_its_own_roles_and_appends_the_token_that_the_model_lacks(tmp_path: Path) -> None:
    tokenizer = loaded(tmp_path, {"config.json": {"model_type": "deberta-v2"}})
    brackets = {"pad": 0, "bos": 1, "cls": 1, "eos": 2, "sep": 2, "unk": 3, "mask": 6}
    assert tokenizer.role_ids == brackets
    assert tokenizer.info.vocab_size == 7
    assert tokenizer.encode("hi[MASK]", special=SpecialPolicy.ENCODE) == [5, 6]


def test_files_override_the_roles_of_a_class(tmp_path: Path) -> None:
    files = {
        "tokenizer_config.json": {"tokenizer_class": "DebertaV2Tokenizer", "mask_token": "<mask>"},
        "added_tokens.json": {"<mask>": 6},
    }
    tokenizer = loaded(tmp_path, files)
    assert (tokenizer.roles["mask"], tokenizer.role_ids["mask"]) == ("<mask>", 6)
    assert tokenizer.info.vocab_size == 7


def test_a_role_that_a_file_sets_to_null_is_not_filled(tmp_path: Path) -> None:
    files = {"tokenizer_config.json": {"tokenizer_class": "DebertaV2Tokenizer", "mask_token": None}}
    tokenizer = loaded(tmp_path, files)
    assert "mask" not in tokenizer.roles
    assert tokenizer.info.vocab_size == 6


def test_tokens_follow_the_added_tokens_of_the_files(tmp_path: Path) -> None:
    files = {"config.json": {"model_type": "deberta-v2"}, "added_tokens.json": {"<name>": 6}}
    tokenizer = loaded(tmp_path, files)
    assert (tokenizer.token_id(b"<name>"), tokenizer.role_ids["mask"]) == (6, 7)


def test_a_model_by_its_own_name_gets_no_tokens(tmp_path: Path) -> None:
    loaded(tmp_path, {"config.json": {"model_type": "deberta-v2"}})
    tokenizer: Any = tokbench.load(tmp_path / "spm.model")
    assert tokenizer.info.vocab_size == 6
    assert "mask" not in tokenizer.roles
