"""Tests for classes that change a text before their SentencePiece model encodes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.model_folders import put
from support.sentencepiece_models import scored, unknown, written
from support.small_files import opened

from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConversionError
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType

if TYPE_CHECKING:
    from pathlib import Path

ENDS = [
    ModelPiece(text, 0.0, PieceType.CONTROL)
    for text in ("</s>", "[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]")
]
LETTERS = ["▁", "▁hi", "hi", "h", "i", "é", ".", "<", "u", "n", "k", ">"]
MODEL = written(
    [unknown(), *ENDS, *scored(dict.fromkeys(LETTERS, -2.0))], normalizer={"remove_extra_whitespaces": True}
)


def folder_of(folder: Path, name: str, **settings: Any) -> Path:
    config = {"tokenizer_class": name, "unk_token": "<unk>", "eos_token": "</s>", **settings}
    return put(folder, {"spiece.model": MODEL, "tokenizer_config.json": config})


def spelled(tokenizer: Any, text: str) -> list[tuple[str, str]]:
    """Return the piece of each token with the text of its span."""
    tokens = tokenizer.segment(text, special=SpecialPolicy.ENCODE).tokens
    data = text.encode()
    return [
        (token.piece.decode().replace(" ", "▁"), data[token.span.start : token.span.stop].decode())
        for token in tokens
    ]


@pytest.mark.parametrize(
    ("name", "settings", "text", "expected"),
    [
        ("SiglipTokenizer", {}, " HI. ", [("▁hi", "HI")]),
        ("SiglipTokenizer", {}, "hi</s>HI", [("▁hi", "hi"), ("</s>", "</s>"), ("hi", "HI")]),
        ("SiglipTokenizer", {}, "</s> h", [("</s>", "</s>"), ("h", "h")]),
        ("SiglipTokenizer", {}, "", []),
        ("SiglipTokenizer", {}, "\u0130", [("▁", ""), ("i", ""), ("▁\u2047▁", "\u0130")]),
        ("GPTSw3Tokenizer", {}, "h\u200bi e\u0301", [("▁hi", "h\u200bi"), ("▁", " "), ("é", "e\u0301")]),
        ("GPTSw3Tokenizer", {}, "hi\u2009hi", [("▁hi", "hi"), ("▁hi", "\u2009hi")]),
        ("DebertaV2Tokenizer", {"do_lower_case": True}, "HI hi", [("▁hi", "HI"), ("▁hi", " hi")]),
        (
            "DebertaV2Tokenizer",
            {"split_by_punct": True},
            "hi.hi",
            [("▁hi", "hi"), ("▁", ""), (".", "."), ("▁hi", "hi")],
        ),
    ],
)
def test_a_text_is_changed_first_and_spans_are_those_of_the_text(
    tmp_path: Path, name: str, settings: dict[str, Any], text: str, expected: list[tuple[str, str]]
) -> None:
    model = opened(folder_of(tmp_path, name, **settings))
    assert spelled(model.tokenizer, text) == expected
    said = [warning for warning in model.warnings if "differ at punctuation" in warning]
    assert bool(said) == ("split_by_punct" in settings)
    assert len(model.warnings) == len(said)
    assert "the rules of its class" in (model.composition.parts["normalizer"] or "")


def test_the_model_by_its_own_name_takes_a_text_as_it_is(tmp_path: Path) -> None:
    model = opened(folder_of(tmp_path, "SiglipTokenizer") / "spiece.model")
    assert spelled(model.tokenizer, "hi.") == [("▁hi", "hi"), (".", ".")]


def test_siglip_drops_the_space_before_a_special_token_that_begins_a_text(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "SiglipTokenizer")
    pieces = [unknown(), *ENDS, *scored(dict.fromkeys(LETTERS, -2.0))]
    keeping = written(pieces, normalizer={"remove_extra_whitespaces": False})
    tokenizer = opened(put(folder, {"spiece.model": keeping})).tokenizer
    assert spelled(tokenizer, " </s>hi") == [("</s>", "</s>"), ("hi", "hi")]
    assert spelled(tokenizer, " ") == [("▁", "")]


def test_it_ends_a_text_as_its_class_does(tmp_path: Path) -> None:
    tokenizer: Any = opened(folder_of(tmp_path, "SiglipTokenizer")).tokenizer
    assert tokenizer.with_template("hi") == [*tokenizer.encode("hi"), 1]
    assert tokenizer.decode(tokenizer.with_template("Hi.")).strip() == "hi</s>"


def test_it_is_not_saved_as_what_it_is_not(tmp_path: Path) -> None:
    tokenizer = opened(folder_of(tmp_path, "GPTSw3Tokenizer")).tokenizer
    with pytest.raises(ConversionError, match="changes texts first"):
        tokenizer.save(tmp_path / "saved")
