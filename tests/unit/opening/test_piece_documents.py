"""Tests for folders whose tokenizer class changes a text before its SentencePiece model encodes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.model_folders import put
from support.sentencepiece_models import scored, unknown, written
from support.small_files import opened

import tokbench
from tokbench.errors import ModelFormatError
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType

if TYPE_CHECKING:
    from pathlib import Path

NAME = "spiece.model"
ENDS = {
    "AlbertTokenizer": ("[CLS]", "[SEP]"),
    "FNetTokenizer": ("[CLS]", "[SEP]"),
    "XLNetTokenizer": ("<cls>", "<sep>"),
}
WORDS = ["▁", "▁é", "▁e", "▁E", '▁"', "e", "é", "E", '"', "`", "'", "1", ",", "1,", "a"]


def folder_of(folder: Path, name: str, **settings: Any) -> Path:
    """Write a model and a configuration that names a tokenizer class."""
    ends = (ModelPiece(text, 0.0, PieceType.CONTROL) for text in ENDS.get(name, ()))
    pieces = [unknown(), *ends, *scored(dict.fromkeys(WORDS, -2.0))]
    config = {"tokenizer_class": name, **settings}
    return put(folder, {NAME: written(pieces), "tokenizer_config.json": config})


def pieces_of(tokenizer: Any, text: str) -> list[str]:
    return [tokenizer.token_bytes(id).decode().replace(" ", "▁") for id in tokenizer.encode(text)]


@pytest.mark.parametrize(
    ("name", "settings", "text", "expected"),
    [
        ("AlbertTokenizer", {}, "É  É", ["▁e", "▁e"]),
        ("AlbertTokenizer", {"do_lower_case": False}, "É", ["▁E"]),
        ("AlbertTokenizer", {"keep_accents": True}, "É ", ["▁é"]),
        ("XLNetTokenizer", {}, "É", ["▁E"]),
        ("XLNetTokenizer", {"do_lower_case": True}, "É", ["▁e"]),
        ("FNetTokenizer", {}, "é\té", ["▁é", "▁é"]),
        ("FNetTokenizer", {}, "``é''", ['▁"', "é", '"']),
        ("AlbertTokenizer", {}, "1,a", ["▁", "1", ",", "a"]),
    ],
)
def test_text_is_changed_as_the_class_changes_it(
    tmp_path: Path, name: str, settings: dict[str, Any], text: str, expected: list[str]
) -> None:
    found = opened(folder_of(tmp_path, name, **settings))
    assert pieces_of(found.tokenizer, text) == expected
    assert found.warnings == ()


def test_templates_have_the_type_ids_of_the_class(tmp_path: Path) -> None:
    tokenizer: Any = tokbench.load(folder_of(tmp_path / "xlnet", "XLNetTokenizer"))
    made = tokenizer.model_input("e", "a")
    assert (list(made.ids), list(made.type_ids)) == ([5, 2, 3, 17, 2, 1], [0, 0, 1, 1, 1, 2])
    albert: Any = tokbench.load(folder_of(tmp_path / "albert", "AlbertTokenizer"))
    made = albert.model_input("e", "a")
    assert (list(made.ids), list(made.type_ids)) == ([1, 5, 2, 3, 17, 2], [0, 0, 0, 1, 1, 1])


def test_model_named_by_its_file_changes_no_text(tmp_path: Path) -> None:
    found = opened(folder_of(tmp_path, "AlbertTokenizer") / NAME)
    assert pieces_of(found.tokenizer, "É") != ["▁e"]


@pytest.mark.parametrize(
    ("name", "settings", "does"),
    [
        ("SiglipTokenizer", {}, "lower-cases a text and drops its punctuation"),
        ("GPTSw3Tokenizer", {}, "drops what is not printed, and brings a text to NFC"),
        ("DebertaV2Tokenizer", {"split_by_punct": True}, "cuts a text at punctuation"),
        ("DebertaV2Tokenizer", {"do_lower_case": True}, "lower-cases a text"),
    ],
)
def test_unsupported_text_changes_are_reported(
    tmp_path: Path, name: str, settings: dict[str, Any], does: str
) -> None:
    folder = folder_of(tmp_path, name, **settings)
    said = f"a {name} first {does}, which is not done here: it gives other ids for such texts"
    assert said in opened(folder).warnings
    assert said not in opened(folder / NAME).warnings


def test_classes_that_change_no_text_have_no_warning(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "DebertaV2Tokenizer", split_by_punct=False)
    assert opened(folder).warnings == ()


def test_chatglm_spells_white_space_as_symbols(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "ChatGLMTokenizer")
    assert opened(folder).warnings == ()
    (folder / NAME).rename(folder / "ice_text.model")
    assert any("line ends, tabs and runs of spaces" in warning for warning in opened(folder).warnings)


@pytest.mark.parametrize(
    ("settings", "pieces"),
    [
        ({"legacy": False, "add_prefix_space": False}, ["e"]),
        ({"legacy": False, "add_prefix_space": True}, ["▁e"]),
        ({"legacy": True, "add_prefix_space": False}, ["▁e"]),
    ],
)
def test_llama_omits_the_prefix_space_when_configured(
    tmp_path: Path, settings: dict[str, Any], pieces: list[str]
) -> None:
    found = opened(folder_of(tmp_path, "LlamaTokenizer", **settings))
    assert pieces_of(found.tokenizer, "e") == pieces
    assert bool(found.warnings) == bool(settings["legacy"])


@pytest.mark.parametrize(
    ("name", "settings", "special", "said"),
    [
        ("LlamaTokenizer", {}, False, "puts a space in front of what follows"),
        ("LlamaTokenizer", {}, True, None),
        ("LlamaTokenizer", {"legacy": False}, False, None),
        ("LlamaTokenizer", {"legacy": False}, True, "puts no space in front of what follows"),
        ("CodeLlamaTokenizer", {}, True, "puts no space in front of what follows"),
        ("XLNetTokenizer", {}, True, None),
    ],
)
def test_different_spaces_after_added_tokens_are_reported(
    tmp_path: Path, name: str, settings: dict[str, Any], special: bool, said: str | None
) -> None:
    id = len(WORDS) + 1 + len(ENDS.get(name, ()))
    listed = {str(id): {"content": "<tool>", "special": special}}
    folder = folder_of(tmp_path, name, added_tokens_decoder=listed, **settings)
    warnings = [warning for warning in opened(folder).warnings if "added token such as '<tool>'" in warning]
    assert [said in warning for warning in warnings if said] == [True] * (said is not None)
    assert bool(warnings) == bool(said)
    assert not [warning for warning in opened(folder / NAME).warnings if "such as '<tool>'" in warning]


@pytest.mark.parametrize("name", ["CpmTokenizer", "BartphoTokenizer", "ErnieMTokenizer"])
def test_classes_with_unknown_rules_are_refused(tmp_path: Path, name: str) -> None:
    folder = folder_of(tmp_path, name)
    with pytest.raises(ModelFormatError, match=f"found that of a {name}, which"):
        tokbench.load(folder)
    assert tokbench.load(folder / NAME).encode("a")
