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
    model = opened(folder_of(tmp_path, name, **settings))
    assert pieces_of(model.tokenizer, text) == expected
    assert model.warnings == ()


def test_symbols_around_which_versions_of_a_class_differ_are_warned_of(tmp_path: Path) -> None:
    symbols = [ModelPiece(text, 0.0, PieceType.USER_DEFINED) for text in ("[MASK]", "(")]
    controls = [ModelPiece(text, 0.0, PieceType.CONTROL) for text in ("<pad>", "[CLS]", "[SEP]")]
    pieces = [unknown(), *controls, *symbols, *scored({"▁": -2.0})]
    config = {"tokenizer_class": "AlbertTokenizer"}
    folder = put(tmp_path, {NAME: written(pieces), "tokenizer_config.json": config})
    [warning] = opened(folder).warnings
    assert "symbols of the model, as '('" in warning


def test_a_dictionary_of_fairseq_beside_a_model_is_warned_of(tmp_path: Path) -> None:
    folder = put(tmp_path, {NAME: written([unknown(), *scored({"▁": -2.0})]), "dict.txt": b"hi 12\n"})
    assert any("dict.txt beside the model gives" in warning for warning in opened(folder).warnings)
    assert opened(folder / NAME).warnings == ()


def test_templates_have_the_type_ids_of_the_class(tmp_path: Path) -> None:
    tokenizer: Any = tokbench.load(folder_of(tmp_path / "xlnet", "XLNetTokenizer"))
    row = tokenizer.model_input("e", "a")
    assert (list(row.ids), list(row.type_ids)) == ([5, 2, 3, 17, 2, 1], [0, 0, 1, 1, 1, 2])
    albert: Any = tokbench.load(folder_of(tmp_path / "albert", "AlbertTokenizer"))
    row = albert.model_input("e", "a")
    assert (list(row.ids), list(row.type_ids)) == ([1, 5, 2, 3, 17, 2], [0, 0, 0, 1, 1, 1])


def test_model_named_by_its_file_changes_no_text(tmp_path: Path) -> None:
    model = opened(folder_of(tmp_path, "AlbertTokenizer") / NAME)
    assert pieces_of(model.tokenizer, "É") != ["▁e"]


def test_unsupported_text_changes_are_reported(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "SpeechT5Tokenizer", normalize=True)
    said = "a SpeechT5Tokenizer first spells numbers in words, which is not done here: it gives different ids"
    assert any(said in warning for warning in opened(folder).warnings)
    assert not any(said in warning for warning in opened(folder / NAME).warnings)


def test_classes_that_change_no_text_have_no_warning(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "DebertaV2Tokenizer", split_by_punct=False)
    assert opened(folder).warnings == ()


def test_chatglm_spells_white_space_as_symbols(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "ChatGLMTokenizer")
    assert not any("line ends" in warning for warning in opened(folder).warnings)
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
    model = opened(folder_of(tmp_path, "LlamaTokenizer", **settings))
    assert pieces_of(model.tokenizer, "e") == pieces
    said = [warning for warning in model.warnings if "add_prefix_space" in warning]
    assert bool(said) == bool(settings["legacy"])


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


@pytest.mark.parametrize("name", ["T5Tokenizer", "LlamaTokenizer"])
def test_other_spaces_after_tokens_of_the_model_are_warned_of(tmp_path: Path, name: str) -> None:
    control = ModelPiece("</s>", 0.0, PieceType.CONTROL)
    settings = {"tokenizer_class": name, "eos_token": "</s>", "extra_ids": 0}
    said = {}
    for legacy in (True, False):
        folder = put(
            tmp_path / str(legacy),
            {
                NAME: written([unknown(), control, *scored({"▁": -2.0})]),
                "tokenizer_config.json": {**settings, "legacy": legacy},
            },
        )
        said[legacy] = any("an added token such as '</s>'" in warning for warning in opened(folder).warnings)
    assert said == {True: False, False: True}


MASK = "[MASK]"


@pytest.mark.parametrize(
    ("name", "kind", "removes_spaces", "said"),
    [
        ("BigBirdTokenizer", PieceType.USER_DEFINED, True, True),
        ("BigBirdTokenizer", PieceType.CONTROL, False, True),
        ("BigBirdTokenizer", PieceType.CONTROL, True, False),  # the model drops the space itself
        ("RemBertTokenizer", PieceType.USER_DEFINED, True, False),
        ("AlbertTokenizer", PieceType.USER_DEFINED, True, False),  # done as the class does it
    ],
)
def test_space_before_the_mask_is_warned_of(
    tmp_path: Path, name: str, kind: PieceType, removes_spaces: bool, said: bool
) -> None:
    pieces = [unknown(), ModelPiece(MASK, 0.0, kind), *scored({"▁": -2.0, "▁a": -1.0})]
    model = written(pieces, normalizer={"remove_extra_whitespaces": removes_spaces})
    folder = put(tmp_path, {NAME: model, "tokenizer_config.json": {"tokenizer_class": name}})
    warnings = [warning for warning in opened(folder).warnings if "the white space before" in warning]
    sentence = (
        "a BigBirdTokenizer takes the white space before '[MASK]', though not in every version of transformers, "
        "and here it stays: such texts have different ids there"
    )
    assert warnings == [sentence] * said
    tokenizer: Any = opened(folder).tokenizer
    ids = tokenizer.encode(f"a {MASK}", special=tokbench.SpecialPolicy.ENCODE)
    stays = [tokenizer.token_bytes(id) for id in ids] == [b" a", b" ", MASK.encode()]
    assert stays == (said or name == "RemBertTokenizer")
    flags = {"1": {"content": MASK, "lstrip": True, "special": kind is PieceType.CONTROL}}
    put(tmp_path, {"tokenizer_config.json": {"tokenizer_class": name, "added_tokens_decoder": flags}})
    assert not [warning for warning in opened(folder).warnings if "the white space before" in warning]


@pytest.mark.parametrize(
    ("name", "settings", "is_said"),
    [
        ("LlamaTokenizer", {}, True),
        ("LlamaTokenizer", {"add_bos_token": False}, False),
        ("BaichuanTokenizer", {}, True),
        ("XLNetTokenizer", {}, False),
    ],
)
def test_a_beginning_by_default_is_warned_of(
    tmp_path: Path, name: str, settings: dict[str, Any], is_said: bool
) -> None:
    folder = folder_of(tmp_path, name, **settings)
    said = [warning for warning in opened(folder).warnings if "no file sets add_bos_token" in warning]
    assert bool(said) is is_said
    assert not any("add_bos_token" in warning for warning in opened(folder / NAME).warnings)


def test_a_class_that_is_not_known_is_warned_of(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "MyTokenizer")
    assert any("a MyTokenizer, whose rules are not known" in warning for warning in opened(folder).warnings)


def test_chatglm2_has_tokens_that_no_file_lists_and_begins_with_two_of_them(tmp_path: Path) -> None:
    model = opened(folder_of(tmp_path, "ChatGLMTokenizer"))
    tokenizer: Any = model.tokenizer
    first = len(WORDS) + 1
    assert tokenizer.info.special_tokens == {
        text: first + place for place, text in enumerate(("[MASK]", "[gMASK]", "[sMASK]", "sop", "eop"))
    }
    assert tokenizer.with_template("e") == [first + 1, first + 3, *tokenizer.encode("e")]
    assert any("ChatGLM3 has <|system|>" in warning for warning in model.warnings)


@pytest.mark.parametrize("name", ["CpmTokenizer", "BartphoTokenizer", "ErnieMTokenizer"])
def test_classes_with_unknown_rules_are_refused(tmp_path: Path, name: str) -> None:
    folder = folder_of(tmp_path, name)
    with pytest.raises(ModelFormatError, match=f"found that of a {name}, which"):
        tokbench.load(folder)
    assert tokbench.load(folder / NAME).encode("a")


@pytest.mark.parametrize(
    ("kind", "settings", "is_changed"),
    [(1, {}, True), (2, {}, False), (1, {"remove_space": False}, False)],
    ids=["unigram", "merges", "spaces stay"],
)
def test_class_whose_changes_are_not_done_here_is_warned_of(
    tmp_path: Path, kind: int, settings: dict[str, Any], is_changed: bool
) -> None:
    pieces = [unknown(), *scored(dict.fromkeys(["▁", "▁E", "E", "e"], -2.0))]
    config = {"tokenizer_class": "AlbertTokenizer", **settings}
    folder = put(
        tmp_path, {NAME: written(pieces, trainer={"model_type": kind}), "tokenizer_config.json": config}
    )
    said = "an AlbertTokenizer first changes a text"
    assert any(said in warning for warning in opened(folder).warnings) is (not is_changed)
    assert not any(said in warning for warning in opened(folder / NAME).warnings)


def test_template_has_symbols_that_are_defined_by_the_user(tmp_path: Path) -> None:
    ends = [ModelPiece(text, 0.0, PieceType.USER_DEFINED) for text in ("[CLS]", "[SEP]")]
    pieces = [unknown(), *ends, *scored(dict.fromkeys(["▁", "▁a", "a"], -2.0))]
    config = {"tokenizer_class": "DebertaV2Tokenizer"}
    folder = put(tmp_path, {NAME: written(pieces), "tokenizer_config.json": config})
    tokenizer: Any = tokbench.load(folder)
    assert tokenizer.with_template("a") == [1, *tokenizer.encode("a"), 2]
