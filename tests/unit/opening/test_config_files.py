"""Tests that a vocabulary is opened together with the configuration files beside it."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from support import model_folders
from support.model_folders import TOKENS, entry, put
from support.sentencepiece_models import scored, unknown, written
from support.small_files import opened

import tokbench
from tokbench.convert.conversion import Source, target_named
from tokbench.core.tokens import SpecialPolicy
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.formats.tokenizer_config.fields import TokenizerConfig
from tokbench.opening import known_ranks as known

if TYPE_CHECKING:
    from pathlib import Path


FIRST = len(TOKENS)


def encoded(tokenizer: Any, text: str) -> list[int]:
    return tokenizer.encode(text, special=SpecialPolicy.ENCODE)


@pytest.mark.parametrize(
    ("name", "roles", "ends"),
    [
        ("llama3", {"bos": "<|begin_of_text|>", "eos": "<|eot_id|>"}, (FIRST + 1, FIRST + 4)),
        ("qwen", {"eos": "<|im_end|>", "pad": "<|endoftext|>"}, ()),
        ("mistral", {"bos": "<s>", "eos": "</s>", "unk": "<unk>"}, ()),
        ("gemma", {"bos": "<s>", "eos": "</s>", "unk": "<unk>"}, (2, 267)),
        ("bert", {"unk": "[UNK]", "sep": "[SEP]", "pad": "[PAD]", "cls": "[CLS]", "mask": "[MASK]"}, ()),
    ],
)
def test_opened_folder_has_the_roles_of_its_configuration(
    tmp_path: Path, name: str, roles: dict[str, str], ends: tuple[int, ...]
) -> None:
    tokenizer: Any = tokbench.load(model_folders.FOLDERS[name](tmp_path))
    assert tokenizer.tokenizer_config.roles == roles
    assert tokenizer.tokenizer_config.generation_ids.get("eos", ()) == ends
    assert opened(tmp_path).warnings[1:] == ()
    for role, text in roles.items():
        if role != "unk":
            assert encoded(tokenizer, text) == [tokenizer.info.special_tokens[text]]


def test_naming_a_file_opens_the_same_as_naming_its_folder(tmp_path: Path) -> None:
    model_folders.llama3(tmp_path)
    one, other = opened(tmp_path), opened(tmp_path / "tokenizer.json")
    assert one.source.config == other.source.config
    assert one.source.config


def test_file_without_configuration_has_no_roles(tmp_path: Path) -> None:
    model_folders.llama3(tmp_path)
    for name in ("tokenizer_config.json", "special_tokens_map.json", "generation_config.json"):
        (tmp_path / name).unlink()
    tokenizer: Any = tokbench.load(tmp_path)
    assert tokenizer.tokenizer_config == TokenizerConfig()
    assert len(tokenizer.info.special_tokens) == 5


def test_vocab_and_merges_take_special_tokens_from_the_configuration(tmp_path: Path) -> None:
    tokenizer: Any = tokbench.load(model_folders.qwen(tmp_path))
    specials = {"<|endoftext|>": FIRST, "<|im_start|>": FIRST + 1, "<|im_end|>": FIRST + 2}
    assert tokenizer.info.special_tokens == specials
    assert tokenizer.info.vocab_size == FIRST + 4
    assert tokenizer.encode("hi<tool_call>") == [256, FIRST + 3]
    assert encoded(tokenizer, "<|im_end|>hi") == [FIRST + 2, 256]


def test_vocab_and_merges_take_token_flags_from_the_configuration(tmp_path: Path) -> None:
    tokenizer: Any = tokbench.load(model_folders.roberta(tmp_path))
    specials = tokenizer.info.special_tokens
    assert specials == {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": 263}
    assert encoded(tokenizer, "hi <mask>") == [260, 263]


def test_sentencepiece_model_takes_added_tokens_from_the_configuration(tmp_path: Path) -> None:
    tokenizer: Any = tokbench.load(model_folders.mistral(tmp_path))
    assert tokenizer.info.special_tokens == {"<s>": 1, "</s>": 2, "<|im_start|>": 9, "<|im_end|>": 10}
    assert tokenizer.info.vocab_size == 11
    assert tokenizer.encode("hi hi") == [4, 4]
    assert encoded(tokenizer, "<|im_start|>hi<|im_end|>")[0] == 9
    assert tokenizer.decode([4, 10]) == "hi<|im_end|>"


@pytest.mark.parametrize(
    ("beside", "sentinels"),
    [
        ({"tokenizer_config.json": {"tokenizer_class": "T5Tokenizer", "extra_ids": 2}}, 2),
        ({"tokenizer_config.json": {"tokenizer_class": "T5TokenizerFast"}}, 100),
        ({"config.json": {"model_type": "t5"}}, 100),
        ({"config.json": {"model_type": "longt5"}}, 100),
        ({"tokenizer_config.json": {"tokenizer_class": "MT5Tokenizer"}}, 100),
        ({"tokenizer_config.json": {"tokenizer_class": "T5Tokenizer", "extra_ids": 0}}, 0),
        ({"tokenizer_config.json": {"tokenizer_class": "T5Tokenizer", "extra_ids": "2"}}, 0),
        ({"tokenizer_config.json": {"tokenizer_class": "T5Tokenizer", "added_tokens_decoder": {}}}, 0),
        ({"tokenizer_config.json": {"tokenizer_class": "LlamaTokenizer", "extra_ids": 2}}, 0),
    ],
    ids=str,
)
def test_t5_sentinels_count_down_to_the_last_id(
    tmp_path: Path, beside: dict[str, Any], sentinels: int
) -> None:
    ends = [ModelPiece(text, 0.0, PieceType.CONTROL) for text in ("<pad>", "</s>")]
    pieces = [*ends, unknown(), *scored({"▁": -2.0, "hi": -1.0})]
    put(tmp_path, {"spiece.model": written(pieces), **beside})
    tokenizer: Any = tokbench.load(tmp_path)
    specials = {
        text: id for text, id in tokenizer.info.special_tokens.items() if text not in ("<pad>", "</s>")
    }
    size = tokenizer.info.vocab_size - sentinels
    assert specials == {f"<extra_id_{number}>": size + sentinels - 1 - number for number in range(sentinels)}
    if sentinels:
        assert encoded(tokenizer, "hi<extra_id_0>")[-1] == tokenizer.info.vocab_size - 1


def test_word_list_takes_added_tokens_from_the_configuration(tmp_path: Path) -> None:
    tokenizer: Any = tokbench.load(model_folders.bert(tmp_path))
    assert "[URL]" not in tokenizer.info.special_tokens
    assert tokenizer.encode("HI [URL]") == [5, 12]


def test_rank_file_takes_special_tokens_from_the_configuration(tmp_path: Path) -> None:
    tokenizer: Any = opened(model_folders.llama3_ranks(tmp_path), pattern="llama3").tokenizer
    assert tokenizer.info.special_tokens["<|eot_id|>"] == FIRST + 4
    assert tokenizer.tokenizer_config.roles["eos"] == "<|eot_id|>"
    assert encoded(tokenizer, "<|begin_of_text|>hi") == [FIRST, 256]


def test_rank_file_known_by_its_hash_has_roles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = model_folders.llama3_ranks(tmp_path) / "tokenizer.model"
    digest = hashlib.sha256(ranks.read_bytes()).hexdigest()
    says = known.KnownRanks(
        "mine",
        "llama3",
        {"<|end|>": 300, "<|eot|>": 301},
        roles={"eos": "<|end|>"},
        eos_ids=(300, 301),
        note="odd",
    )
    monkeypatch.setitem(known.KNOWN_BY_SHA256, digest, says)
    assert (
        opened(ranks).tokenizer.info.special_tokens["<|eot_id|>"] == FIRST + 4
    )  # the files beside it take precedence
    (tmp_path / "tokenizer_config.json").unlink()
    (tmp_path / "special_tokens_map.json").unlink()
    (tmp_path / "generation_config.json").unlink()
    bare = opened(ranks)
    assert bare.tokenizer.info.special_tokens == {"<|end|>": 300, "<|eot|>": 301}
    assert bare.source.config.roles == {"eos": "<|end|>"}
    assert bare.source.config.generation_ids == {"eos": (300, 301)}
    assert "odd" in bare.warnings


def test_tokens_missing_in_tokenizer_json_are_added_as_by_transformers(tmp_path: Path) -> None:
    model_folders.llama3(tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_bytes())
    config["added_tokens_decoder"] |= {str(FIRST + 5): entry("<|more|>"), str(FIRST + 9): entry("<|far|>")}
    config |= {"pad_token": "<pad>", "unk_token": "hi"}
    put(tmp_path, {"tokenizer_config.json": config})
    model = opened(tmp_path)
    assert model.tokenizer.info.special_tokens["<|more|>"] == FIRST + 5
    assert model.tokenizer.info.special_tokens["hi"] == 256
    assert "<|far|>" not in model.tokenizer.info.special_tokens
    assert [
        warning for warning in model.warnings if "added token" in warning or "vocabulary has no" in warning
    ] == [
        f"the added token '<|far|>' cannot get the id {FIRST + 9}: the next one is {FIRST + 6}",
        "the vocabulary has no '<pad>', which is to be pad",
    ]


def test_contradictory_ids_are_reported_and_those_of_the_vocabulary_win(tmp_path: Path) -> None:
    model_folders.llama3(tmp_path)
    put(tmp_path, {"tokenizer_config.json": {"added_tokens_decoder": {"3": entry("<|eot_id|>")}}})
    model = opened(tmp_path)
    assert model.tokenizer.info.special_tokens["<|eot_id|>"] == FIRST + 4
    assert (
        f"the added token '<|eot_id|>' has the id {FIRST + 4}, not 3 as the files beside it say"
        in model.warnings
    )


def test_contradictory_flags_are_reported_and_those_of_the_vocabulary_win(tmp_path: Path) -> None:
    model_folders.llama3(tmp_path)
    other = entry("<|eot_id|>") | {"lstrip": True, "special": False}
    put(tmp_path, {"tokenizer_config.json": {"added_tokens_decoder": {str(FIRST + 4): other}}})
    model = opened(tmp_path)
    assert model.tokenizer.info.special_tokens["<|eot_id|>"] == FIRST + 4
    assert [warning for warning in model.warnings if "lstrip" in warning] == [
        "the added token '<|eot_id|>' has lstrip=false, special=true in tokenizer.json, which count, "
        "and lstrip=true, special=false beside it"
    ]


def test_ids_of_ranks_are_refused_for_special_tokens(tmp_path: Path) -> None:
    model_folders.llama3_ranks(tmp_path)
    config = {
        "added_tokens_decoder": {"3": entry("<a>"), "900": entry("<b>", special=False), "901": entry("<c>")},
        "eos_token": "<d>",
    }
    put(tmp_path, {"tokenizer_config.json": config})
    model = opened(tmp_path, pattern="gpt4")
    assert model.tokenizer.info.special_tokens == {"<c>": 901}
    assert len([warning for warning in model.warnings if "'<a>'" in warning or "'<b>'" in warning]) == 2
    assert "the vocabulary has no '<d>', which is to be eos" in model.warnings


def test_added_token_with_an_id_far_beyond_the_pieces_is_skipped(tmp_path: Path) -> None:
    model_folders.mistral(tmp_path)
    put(tmp_path, {"added_tokens.json": {"<|im_end|>": 9, "<far>": 1 << 23, "<x>": 10}})
    model = opened(tmp_path)
    assert model.tokenizer.info.vocab_size == 11
    assert any("'<far>' cannot get the id" in warning for warning in model.warnings)
    assert model.tokenizer.encode("hi<x>")[-1] == 10  # not special, so it is found in every text


def test_warnings_about_many_added_tokens_are_abbreviated(tmp_path: Path) -> None:
    model_folders.mistral(tmp_path)
    put(tmp_path, {"added_tokens.json": {f"<far{number}>": 1000 + number for number in range(90)}})
    said = opened(tmp_path).warnings
    wrong = [warning for warning in said if "get the id" in warning or "more added token" in warning]
    assert [warning.split("'")[1] for warning in wrong[:-1]] == ["<far0>", "<far1>", "<far2>"]
    assert wrong[-1] == "the same holds for 87 more added tokens"


def test_damaged_configuration_file_is_reported_and_skipped(tmp_path: Path) -> None:
    model_folders.llama3(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{", encoding="utf-8")
    model = opened(tmp_path)
    assert model.tokenizer.encode("hi") == [256]
    assert any("tokenizer_config.json is left out" in warning for warning in model.warnings)


# --- GGUF -------------------------------------------------------------------------------------


def test_gguf_metadata_gives_roles_and_template() -> None:
    from tokbench.opening.gguf.config import gguf_config

    config = gguf_config(
        {
            "tokenizer.ggml.tokens": [b"<s>", b"</s>", b"<eot>", b"\xff"],
            "tokenizer.ggml.bos_token_id": 0,
            "tokenizer.ggml.eos_token_id": 1,
            "tokenizer.ggml.eot_token_id": 2,
            "tokenizer.ggml.unknown_token_id": 3,
            "tokenizer.ggml.padding_token_id": 4,
            "tokenizer.ggml.mask_token_id": 0xFFFFFFFF,
            "tokenizer.ggml.add_bos_token": True,
            "tokenizer.chat_template": b"{{ messages }}",
            "tokenizer.chat_template.tool_use": b"tools",
            "tokenizer.chat_template.bad": b"\xff",
            "tokenizer.chat_templates": [b"tool_use"],
        }
    )
    assert config.roles == {"bos": "<s>", "eos": "</s>"}
    assert config.generation_ids == {"eos": (1, 2)}
    assert (config.add_bos_token, config.add_eos_token) == (True, None)
    assert config.chat_templates == {"default": "{{ messages }}", "tool_use": "tools"}
    assert len(config.problems) == 3


@pytest.mark.parametrize("value", [b"1", "1", True, -5, 1.5, [1], 10**30])
def test_invalid_gguf_ids_are_reported(value: Any) -> None:
    from tokbench.opening.gguf.config import gguf_config

    config = gguf_config({"tokenizer.ggml.tokens": [b"<s>", b"a"], "tokenizer.ggml.bos_token_id": value})
    assert config.roles == {}
    assert len(config.problems) == 1


@pytest.mark.real
def test_real_gguf_has_roles(shared: Path) -> None:
    tokenizer: Any = tokbench.load(shared / "vocab" / "gguf" / "ggml-vocab-gpt-2.gguf")
    assert tokenizer.tokenizer_config.roles["eos"] == "<|endoftext|>"


# --- stored -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", model_folders.FOLDERS)
def test_tokbin_file_keeps_the_configuration(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from functools import partial

    import tokbench.workbench.convert as conversion
    from tokbench.convert.proof import prove

    monkeypatch.setattr(conversion, "prove", partial(prove, texts=("hi",)))
    source: Any = tokbench.load(model_folders.FOLDERS[name](tmp_path / name))
    conversion.convert(source, to="tokbin", out=tmp_path / "mine.tokbin")
    again: Any = tokbench.load(tmp_path / "mine.tokbin")
    assert source.tokenizer_config
    assert again.tokenizer_config == source.tokenizer_config
    assert opened(tmp_path / "mine.tokbin").source.config == TokenizerConfig()  # the tokbin holds it itself


@pytest.mark.parametrize("backend", ["bpe", "wordpiece", "unigram", "sentencepiece", "byte", "char"])
def test_a_saved_folder_keeps_roles_and_templates(tmp_path: Path, backend: str) -> None:
    from tokbench.workbench.train import train_and_save

    sizes: dict[str, Any] = {} if backend == "byte" else {"vocab_size": 290}
    text = "some words, some other words for pieces and letters\n" * 40
    put(tmp_path, {"text.txt": text})
    train_and_save(
        tokbench.open_corpus(tmp_path / "text.txt"),
        backend=backend,
        options={"special_tokens": ["<|end|>", "<|pad|>"], **sizes},
        directory=tmp_path / "mine",
        roles={"eos": "<|end|>", "pad": "<|pad|>"},
        chat_template="{{ messages }}\r\n",
    )
    again: Any = tokbench.load(tmp_path / "mine")
    assert again.tokenizer_config.roles.items() >= {"eos": "<|end|>", "pad": "<|pad|>"}.items()
    assert again.tokenizer_config.chat_templates == {"default": "{{ messages }}\r\n"}
    again.save(tmp_path / "other")
    other: Any = tokbench.load(tmp_path / "other")
    assert other.tokenizer_config == again.tokenizer_config


@pytest.mark.parametrize(
    ("said", "around"),
    [
        ({"add_bos_token": True, "add_eos_token": False}, ([1], [])),
        ({"add_bos_token": True, "add_eos_token": True}, ([1], [2])),
        ({"add_eos_token": True}, ([], [2])),
        ({"add_bos_token": False}, ([], [])),
        ({}, ([], [])),
        ({"add_bos_token": True, "bos_token": "</s>"}, ([2], [])),
        ({"add_bos_token": True, "bos_token": "<|no piece|>"}, ([], [])),
        ({"add_bos_token": True, "tokenizer_class": "T5Tokenizer", "extra_ids": 0}, ([], [2])),
    ],
)
def test_model_takes_its_template_from_the_configuration(
    tmp_path: Path, said: dict[str, Any], around: tuple[list[int], list[int]]
) -> None:
    """The template is that of AutoTokenizer, and single-file formats keep it."""
    import tokenizers

    model_folders.mistral(tmp_path)
    for name in ("special_tokens_map.json", "added_tokens.json"):
        (tmp_path / name).unlink()
    put(tmp_path, {"tokenizer_config.json": {"tokenizer_class": "LlamaTokenizer"} | said})
    tokenizer: Any = tokbench.load(tmp_path)
    before, after = around
    one, other = tokenizer.encode("hi"), tokenizer.encode("hit")
    assert tokenizer.with_template("hi") == [*before, *one, *after]
    assert tokenizer.with_template("hi", "hit") == [*before, *one, *after, *before, *other, *after]
    assert tokenizer.model_input("hi", template=False).ids == tuple(one)
    for target in ("tokbin", "tokenizers"):
        product = target_named(target).make(Source(tokenizer=tokenizer, description=tokenizer.description()))
        (tmp_path / target).write_bytes(product.files[""])
    written: Any = tokbench.load(tmp_path / "tokbin")
    assert written.with_template("hi", "hit") == tokenizer.with_template("hi", "hit")
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizers"))
    assert library.encode("hi", "hit").ids == tokenizer.with_template("hi", "hit")
