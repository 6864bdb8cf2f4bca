"""Tests that settings of a tokenizer_config.json that contradict the vocabulary are reported, and not followed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support import huggingface, model_folders
from support.model_folders import TOKENS, put
from support.sentencepiece_models import scored, unknown, written
from support.small_files import opened

import tokbench
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType

if TYPE_CHECKING:
    from pathlib import Path


FIRST = len(TOKENS)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"do_lower_case": False}, "do_lower_case=false, and tokenizer.json true"),
        ({"strip_accents": True}, "strip_accents=true, and tokenizer.json false"),
        ({"tokenize_chinese_chars": False}, "tokenize_chinese_chars=false, and tokenizer.json true"),
        ({"do_lower_case": True, "strip_accents": None, "add_prefix_space": False}, None),
    ],
    ids=str,
)
def test_contradictory_normalization_is_reported(
    tmp_path: Path, said: dict[str, Any], sentence: str | None
) -> None:
    flags = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": False, "lowercase": True}
    document = json.loads(huggingface.wordpiece())
    document["normalizer"] = {"type": "BertNormalizer", **flags}
    put(tmp_path, {"tokenizer.json": document, "tokenizer_config.json": said})
    told = [warning for warning in opened(tmp_path).warnings if "which is used" in warning]
    assert len(told) == (sentence is not None)
    assert (sentence or "") in "".join(told)


@pytest.mark.parametrize("lowercase", [True, False])
def test_accents_that_a_tokenizer_json_leaves_open_are_stripped_with_the_case(
    tmp_path: Path, lowercase: bool
) -> None:
    document = json.loads(huggingface.wordpiece())
    document["normalizer"] = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": lowercase,
    }
    put(tmp_path, {"tokenizer.json": document, "tokenizer_config.json": {"strip_accents": False}})
    assert any("strip_accents=false" in each for each in opened(tmp_path).warnings) is lowercase


@pytest.mark.parametrize(
    ("part", "step"),
    [
        ("normalizer", {"type": "Prepend", "prepend": "▁"}),
        (
            "pre_tokenizer",
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True},
        ),
        ("pre_tokenizer", {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}),
    ],
)
def test_another_space_in_front_of_pieces_is_reported(
    tmp_path: Path, part: str, step: dict[str, Any]
) -> None:
    document = json.loads(huggingface.unigram()) | {"normalizer": None, "pre_tokenizer": None, part: step}
    put(tmp_path, {"tokenizer.json": document, "tokenizer_config.json": {"add_prefix_space": False}})
    said = "add_prefix_space=false, and tokenizer.json true"
    assert any(said in each for each in opened(tmp_path).warnings)
    put(tmp_path, {"tokenizer_config.json": {"add_prefix_space": True}})
    assert not any("add_prefix_space" in each for each in opened(tmp_path).warnings)


@pytest.mark.parametrize(
    ("name", "language", "is_said"),
    [
        ("NllbTokenizer", "fra_Latn", True),
        ("NllbTokenizer", "<s>", False),
        ("XLMRobertaTokenizer", "fra_Latn", False),
    ],
)
def test_another_language_than_that_of_the_template_is_reported(
    tmp_path: Path, name: str, language: str, is_said: bool
) -> None:
    document = json.loads(huggingface.unigram())
    token = {"id": "<s>", "type_id": 0}
    document["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": token}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}},
    }
    settings = {"tokenizer_class": name, "src_lang": language}
    put(tmp_path, {"tokenizer.json": document, "tokenizer_config.json": settings})
    assert any(f"says src_lang={language}" in each for each in opened(tmp_path).warnings) is is_said


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.model"])
def test_contradictory_prefix_space_is_reported(tmp_path: Path, name: str) -> None:
    file = (
        huggingface.byte_level(add_prefix_space=True)
        if name == "tokenizer.json"
        else written([unknown(), *scored({"▁": -2.0})], normalizer={"add_dummy_prefix": True})
    )
    put(tmp_path, {name: file, "tokenizer_config.json": {"add_prefix_space": False}})
    assert any(f"add_prefix_space=false, and {name} true" in warning for warning in opened(tmp_path).warnings)
    put(tmp_path, {"tokenizer_config.json": {"add_prefix_space": True}})
    assert not any("add_prefix_space" in warning for warning in opened(tmp_path).warnings)


@pytest.mark.parametrize(
    ("settings", "is_said"),
    [
        ({"tokenizer_class": "PreTrainedTokenizerFast"}, True),
        ({"tokenizer_class": "RobertaTokenizer"}, True),
        ({"tokenizer_class": "LayoutLMv3Tokenizer"}, False),
        ({"add_prefix_space": True}, False),
        (None, False),
    ],
    ids=str,
)
def test_prefix_space_that_only_the_tokenizer_json_sets_is_reported(
    tmp_path: Path, settings: dict[str, Any] | None, is_said: bool
) -> None:
    # transformers 4 sets the option of a lone ByteLevel to that of the class, by default false.
    put(tmp_path, {"tokenizer.json": huggingface.byte_level(add_prefix_space=True)})
    if settings is not None:
        put(tmp_path, {"tokenizer_config.json": settings})
    warnings = opened(tmp_path).warnings
    assert (
        any("does not set add_prefix_space, which transformers 4 takes as false" in w for w in warnings)
        is is_said
    )


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        (
            "LlamaTokenizerFast",
            {"add_bos_token": False},
            ["puts nothing in front of a text, and the template"],
        ),
        ("LlamaTokenizerFast", {"add_eos_token": True}, ["puts <|eot_id|> after a text, and the template"]),
        ("LlamaTokenizerFast", {}, []),
        ("GPTNeoXTokenizer", {}, ["puts nothing in front of a text, and the template"]),
        ("PreTrainedTokenizerFast", {"add_bos_token": False}, []),
    ],
)
def test_template_tokens_that_contradict_the_class_are_reported(
    tmp_path: Path, name: str, settings: dict[str, Any], said: list[str]
) -> None:
    bos = {"id": "<|begin_of_text|>", "type_id": 0}
    folder = model_folders.llama3(tmp_path)
    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": bos}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [
            {"SpecialToken": bos},
            *({"Sequence": {"id": character, "type_id": 0}} for character in "AB"),
        ],
        "special_tokens": {bos["id"]: {"id": bos["id"], "ids": [FIRST + 1], "tokens": [bos["id"]]}},
    }
    set_fields(folder / "tokenizer.json", post_processor=template)
    before = len(opened(folder).warnings)
    set_fields(folder / "tokenizer_config.json", tokenizer_class=name, **settings)
    tokenizer: Any = tokbench.load(folder)
    assert tokenizer.with_template("hi") == [FIRST + 1, 256]
    warnings = opened(folder).warnings[before:]
    assert len(warnings) == len(said)
    assert all(sentence in warning for sentence, warning in zip(said, warnings, strict=True))


def test_missing_template_of_a_class_with_bos_is_reported(tmp_path: Path) -> None:
    folder = model_folders.llama3(tmp_path)
    set_fields(folder / "tokenizer_config.json", tokenizer_class="LlamaTokenizerFast")
    assert opened(folder).warnings[-1] == (
        "the LlamaTokenizer of transformers 4 puts <|begin_of_text|> in front of a text, and the template of "
        "tokenizer.json nothing, which is used"
    )


@pytest.mark.parametrize(
    ("pieces", "beside", "is_said"),
    [
        (["▁", "▁a", "b", "c"], {}, False),
        (["▁a", "▁", "b", "c"], {}, True),
        (["▁a", "▁", "b"], {"tokenizer_config.json": {"tokenizer_class": "XLMRobertaTokenizer"}}, False),
        (["▁a", "▁", "b"], {"tokenizer_config.json": {"tokenizer_class": "M2M100Tokenizer"}}, False),
    ],
)
def test_a_model_with_other_ids_is_reported(
    tmp_path: Path, pieces: list[str], beside: dict[str, Any], is_said: bool
) -> None:
    ends = [ModelPiece(text, 0.0, PieceType.CONTROL) for text in ("<s>", "</s>")]
    vocab = [[text, 0.0] for text in ("<unk>", "<s>", "</s>", "▁", "▁a", "b")]
    document = json.loads(huggingface.unigram())
    document["model"] |= {"vocab": vocab, "unk_id": 0}
    document |= {"added_tokens": [], "post_processor": None}
    model = written([unknown(), *ends, *scored(dict.fromkeys(pieces, -1.0))])
    put(tmp_path, {"tokenizer.json": document, "tokenizer.model": model, **beside})
    assert any("are not of one tokenizer" in each for each in opened(tmp_path).warnings) is is_said


def test_a_damaged_model_beside_a_tokenizer_json_is_not_reported(tmp_path: Path) -> None:
    put(tmp_path, {"tokenizer.json": huggingface.unigram(), "tokenizer.model": b"\n\x0e\n\x05<unk>\xff"})
    assert opened(tmp_path).warnings == ()


def set_fields(path: Path, **fields: Any) -> None:
    """Change some fields of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("[UNK]\na\n##b\n", ""),
        ("[UNK]\r\na \r\n##b\r\n", ""),
        ("a\n[UNK]\na\n##b\n", "vocab.txt says that 'a' is 2, and tokenizer.json 1"),
        ("[UNK]\n##b\na\nnew\n", "vocab.txt says that '##b' is 1, and tokenizer.json 2"),
        (b"a\xff\n", ""),
    ],
)
def test_another_word_list_beside_a_tokenizer_json_is_reported(
    tmp_path: Path, words: str | bytes, said: str
) -> None:
    model = {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1, "##b": 2}, "unk_token": "[UNK]"}
    model |= {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    put(tmp_path, {"tokenizer.json": huggingface.document(model), "vocab.txt": words})
    told = [each for each in opened(tmp_path).warnings if "not of one tokenizer" in each]
    assert len(told) == bool(said)
    assert said in "".join(told)


BPE: dict[str, Any] = {
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "ba": 3}, "merges": [["a", "b"], ["b", "a"]]},
}


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        ({"vocab.json": BPE["model"]["vocab"], "merges.txt": "#version: 0.2\na b\nb a\n"}, ""),
        ({"vocab.json": {"a": 0, "b": 1, "ab": 2}}, ""),
        ({"vocab.json": {"a": 0, "ab": 1, "b": 2}}, "vocab.json says that 'ab' is 1, and tokenizer.json 2"),
        ({"merges.txt": "b a\na b\n"}, "merges.txt says that merge 0 is 'b a', and tokenizer.json 'a b'"),
        ({"vocab.bpe": "a b\n"}, "vocab.bpe says that there is 1 merge, and tokenizer.json 2"),
        ({"vocab.json": "{"}, ""),
        ({"vocab.json": {"a": 0, "b": 1, "<s>": 4}}, ""),
        ({"vocab.json": ["a"], "merges.txt": b"b a\xff"}, ""),
        ({"encoder.json": {"a": 0, "b": 2}}, "encoder.json says that 'b' is 2, and tokenizer.json 1"),
        ({"merges.txt": "a b\r\nb a\r\n"}, ""),
    ],
    ids=str,
)
@pytest.mark.parametrize("as_text", [False, True])
def test_another_vocabulary_beside_a_tokenizer_json_is_reported(
    tmp_path: Path, beside: dict[str, Any], said: str, as_text: bool
) -> None:
    merges = [" ".join(pair) if as_text else pair for pair in BPE["model"]["merges"]]
    document = huggingface.document(BPE["model"] | {"merges": merges})
    put(tmp_path, {"tokenizer.json": document, **beside})
    told = [each for each in opened(tmp_path).warnings if "not of one tokenizer" in each]
    assert len(told) == bool(said)
    assert said in "".join(told)


@pytest.mark.parametrize(
    ("name", "roles", "said"),
    [
        ("T5Tokenizer", {"eos_token": "<x>"}, "the files say that eos is '<x>', which a T5Tokenizer writes"),
        ("T5Tokenizer", {"eos_token": "</s>"}, None),
        ("T5Tokenizer", {"bos_token": "<x>"}, None),
        (
            "RobertaTokenizer",
            {"sep_token": "<x>"},
            "the files say that sep is '<x>', which a RobertaTokenizer writes",
        ),
        ("GPT2Tokenizer", {"eos_token": "<x>"}, None),
    ],
)
def test_another_token_of_a_role_than_that_of_the_template_is_reported(
    tmp_path: Path, name: str, roles: dict[str, str], said: str | None
) -> None:
    document = json.loads(huggingface.byte_level())
    ids = {text: 300 + n for n, text in enumerate(("</s>", "<x>"))}
    document["added_tokens"] = [huggingface.added(text, id) for text, id in ids.items()]
    document["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {"</s>": {"id": "</s>", "ids": [300], "tokens": ["</s>"]}},
    }
    put(tmp_path, {"tokenizer.json": document, "tokenizer_config.json": {"tokenizer_class": name, **roles}})
    found = [each for each in opened(tmp_path).warnings if "the files say that" in each]
    assert [each[: len(said or "")] for each in found] == ([said] if said else [])
