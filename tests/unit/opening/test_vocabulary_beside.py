"""Tests for tokenizer classes that take the ids of SentencePiece pieces from a vocabulary beside the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.model_folders import entry, put
from support.sentencepiece_models import scored, unknown, written
from support.small_files import opened

import tokbench
from tokbench.core.tokens import SpecialPolicy, TokenKind
from tokbench.errors import ConversionError, ModelFormatError

if TYPE_CHECKING:
    from pathlib import Path

HI = [unknown(), *scored({"▁": -2.0, "hi": -1.0, "h": -3.0, "i": -3.0, "o": -3.0, "oh": -1.0})]
IDS = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "hi": 4, "▁": 5, "h": 6, "i": 7, "o": 8, "é": 9}


def declared(name: str, **settings: Any) -> dict[str, Any]:
    return {"tokenizer_config.json": {"tokenizer_class": name, **settings}}


M2M = declared("M2M100Tokenizer")


def loaded(folder: Path, files: dict[str, Any]) -> Any:
    return tokbench.load(put(folder, {"m.model": written(HI), "vocab.json": IDS, **files}))


def test_pieces_take_ids_from_the_vocabulary_or_are_unknown(tmp_path: Path) -> None:
    tokenizer = loaded(tmp_path, M2M)
    assert tokenizer.encode("hi ohé éo é?") == [5, 4, 5, 3, 9, 5, 9, 8, 5, 3]
    [oh] = [token for token in tokenizer.segment("oh").tokens if token.piece != b" " and token.piece]
    assert (oh.id, oh.kind, oh.span) == (3, TokenKind.UNKNOWN, (0, 2))
    assert tokenizer.decode([5, 4, 5, 9, 8]) == "hi éo"
    assert tokenizer.decode([5, 4, 3, 5, 4]) == "hi<unk> hi"
    assert tokenizer.token_id("é".encode()) == 9
    assert tokenizer.spelled_id("▁") == 5


def test_m2m100_puts_its_language_token_first(tmp_path: Path) -> None:
    tokenizer = loaded(tmp_path, declared("M2M100Tokenizer", src_lang="am"))
    assert tokenizer.info.vocab_size == 10 + 100
    assert tokenizer.with_template("hi") == [11, 5, 4, 2]
    assert tokenizer.encode("hi__af__", special=SpecialPolicy.ENCODE) == [5, 4, 10]
    assert tokenizer.role_ids == {"bos": 0, "eos": 2, "unk": 3, "pad": 1}


def test_marian_folder_is_split_by_its_source_model(tmp_path: Path) -> None:
    other = written([unknown(), *scored({"▁hi": -1.0})])
    ids = {"</s>": 0, "<unk>": 1, "hi": 2, "▁": 3, ">>fr<<": 4, "<pad>": 5}
    put(tmp_path, {"source.spm": written(HI), "target.spm": other, "vocab.json": ids})
    tokenizer: Any = tokbench.load(tmp_path)
    assert tokenizer.with_template(">>fr<<hi", special=SpecialPolicy.ENCODE) == [4, 3, 2, 0]
    assert tokenizer.with_template("hi", "hi") == [3, 2, 3, 2, 0]


def test_speech2text_appends_eos(tmp_path: Path) -> None:
    assert loaded(tmp_path, declared("Speech2TextTokenizer")).with_template("hi") == [5, 4, 2]


def test_the_case_that_only_older_classes_of_speech2text_fold_is_warned_of(tmp_path: Path) -> None:
    beside = declared("Speech2TextTokenizer", do_lower_case=True)
    model = opened(put(tmp_path, {"m.model": written(HI), "vocab.json": IDS, **beside}))
    assert any("of transformers 4 first lower-cases a text" in warning for warning in model.warnings)


def test_added_tokens_in_the_configuration_are_special(tmp_path: Path) -> None:
    beside = declared("Speech2TextTokenizer", added_tokens_decoder={"12": entry("<x>")})
    assert loaded(tmp_path, beside).encode("hi<x>", special=SpecialPolicy.ENCODE) == [5, 4, 12]


def test_model_named_by_its_file_keeps_its_ids_and_warns(tmp_path: Path) -> None:
    put(tmp_path, {"m.model": written(HI), "vocab.json": IDS, **M2M})
    model = opened(tmp_path / "m.model")
    assert model.tokenizer.encode("hi") == [1, 2]
    assert "vocab.json says that '<unk>' is 3, and m.model 0, which is used" in model.warnings


def test_pieces_missing_in_the_vocabulary_are_counted(tmp_path: Path) -> None:
    model = opened(put(tmp_path, {"m.model": written(HI), "vocab.json": IDS, **M2M}))
    assert model.warnings == ("1 piece of m.model is unknown to the model",)
    assert model.composition.model == "SentencePiece unigram, ids of its class"
    assert model.engine == "native"


@pytest.mark.parametrize(
    ("beside", "message"),
    [
        ({"vocab.json": {"hi": 1}, **M2M}, "expected an id of the unknown token '<unk>'"),
        ({"vocab.json": {**IDS, "oh": 9}, **M2M}, "expected each id once, found 9 twice"),
        ({"vocab.json": {**IDS, "oh": 300_000}, **M2M}, "expected ids below 262144"),
        ({"vocab.json": {**IDS, "oh": "9"}, **M2M}, "expected pieces with their ids"),
        ({"vocab.json": {}, **M2M}, "expected pieces with their ids"),
        (declared("M2M100Tokenizer", src_lang="xx"), "found the language 'xx'"),
        (declared("M2M100Tokenizer", language_codes="xx"), "found the language codes 'xx'"),
        (declared("MarianTokenizer", separate_vocabs=True), "found separate_vocabs"),
        (declared("Speech2TextTokenizer", lang_codes="mustc"), "found the setting lang_codes"),
    ],
)
def test_folder_with_unknowable_ids_is_refused(tmp_path: Path, beside: dict[str, Any], message: str) -> None:
    put(tmp_path, {"m.model": written(HI), "vocab.json": IDS, **beside})
    with pytest.raises(ModelFormatError, match=message) as caught:
        tokbench.load(tmp_path)
    assert caught.value.hint


def test_class_without_its_vocabulary_is_refused(tmp_path: Path) -> None:
    put(tmp_path, {"m.model": written(HI), **M2M})
    with pytest.raises(ModelFormatError, match=r"from which a M2M100Tokenizer takes the ids") as caught:
        tokbench.load(tmp_path)
    assert caught.value.hint is not None
    assert "get vocab.json, too" in caught.value.hint


@pytest.mark.parametrize(
    ("beside", "warnings"),
    [
        ({"vocab.json": {"hi": 0}}, ("vocab.json says that 'hi' is 0, and m.model 2, which is used",)),
        ({"vocab.json": {"model": {}}}, ()),
        ({"vocab.json": ["hi"]}, ()),
    ],
)
def test_vocabulary_of_another_class_is_not_used(
    tmp_path: Path, beside: dict[str, Any], warnings: tuple[str, ...]
) -> None:
    model = opened(put(tmp_path, {"m.model": written(HI), **beside}))
    assert model.tokenizer.encode("hi") == [1, 2]
    assert model.warnings == warnings


def test_class_with_a_damaged_vocabulary_is_refused(tmp_path: Path) -> None:
    put(tmp_path, {"m.model": written(HI), "vocab.json": ["hi"], **M2M})
    with pytest.raises(ModelFormatError, match="expected a JSON object, found a JSON array"):
        tokbench.load(tmp_path)


def test_saving_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match="a separate table of ids"):
        loaded(tmp_path, M2M).save(tmp_path / "saved")
