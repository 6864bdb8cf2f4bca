"""Tests for rank files in folders that name a tokenizer class, whose code defines pattern and special tokens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import tiktoken
from support.small_files import BYTES, opened, ranks

import tokbench
from tokbench import SpecialPolicy
from tokbench.core.post_processing import input_of
from tokbench.core.roles import roles_of
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer

GLM4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN = GLM4.replace("{1,3}", "")
KIMI = "|".join(
    [
        r"[\p{Han}]+",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
GPT4 = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
TOKENS = [
    *BYTES,
    *(text.encode() for text in ("lo", "low", " low", "12", "123", "wX", "\n\n", "\n ", "'s")),
    *("漢字".encode()[:stop] for stop in range(2, 7)),
]
TEXT = "low lowX 12345\n\n  漢字a It's <|endoftext|> \r\n\n wX ’s 漢字 \n "
SIZE = len(TOKENS)


def folder_of(folder: Path, name: str, settings: dict[str, Any], *, file: str) -> Tokenizer:
    """Return a tokenizer of ranks whose folder names a tokenizer class."""
    config = {"auto_map": {"AutoTokenizer": [f"tokenization_x.{name}", None]}, **settings}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    ranks(folder, TOKENS, name=file)
    return tokbench.load(folder)


def ids_of(pattern: str, special_tokens: dict[str, int]) -> list[int]:
    ranks = {token: id for id, token in enumerate(TOKENS)}
    encoding = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special_tokens)
    return encoding.encode(TEXT, allowed_special="all")


@pytest.mark.parametrize(
    ("name", "file", "pattern", "end"),
    [
        ("ChatGLM4Tokenizer", "tokenizer.model", GLM4, SIZE),
        ("QWenTokenizer", "qwen.tiktoken", QWEN, 151_643),
        ("HYTokenizer", "hy.tiktoken", QWEN, SIZE),
        ("Arcade100kTokenizer", "arcade100k.tiktoken", QWEN, 100_257),
        ("Phi3SmallTokenizer", "cl100k_base.tiktoken", GPT4, 100_257),
    ],
)
def test_class_defines_pattern_and_special_tokens(
    tmp_path: Path, name: str, file: str, pattern: str, end: int
) -> None:
    tokenizer = folder_of(tmp_path, name, {}, file=file)
    assert tokenizer.encode(TEXT, special=SpecialPolicy.ENCODE) == ids_of(pattern, {"<|endoftext|>": end})
    composed = "\u00e9" if pattern == QWEN else "e\u0301"
    assert tokenizer.decode(tokenizer.encode("e\u0301")) == composed
    assert roles_of(tokenizer)["eos"] == "<|endoftext|>"
    assert len(opened(tmp_path).warnings) == (name == "HYTokenizer")


@pytest.mark.parametrize(
    ("name", "settings", "before", "after"),
    [
        ("ChatGLM4Tokenizer", {}, [SIZE + 2, SIZE + 4], []),
        ("QWenTokenizer", {}, [], []),
        ("HYTokenizer", {}, [], []),
        ("HYTokenizer", {"add_bos_token": True, "add_eos_token": False}, [SIZE + 1], []),
        ("HYTokenizer", {"add_bod_token": True, "add_eod_token": True}, [SIZE + 1], [SIZE]),
        (
            "HYTokenizer",
            {"add_eos_token": True, "bos_token": "<|bos|>", "eos_token": "<|eos|>"},
            [],
            [SIZE + 3],
        ),
    ],
)
def test_class_defines_the_template(
    tmp_path: Path, name: str, settings: dict[str, Any], before: list[int], after: list[int]
) -> None:
    file = "tokenizer.model" if name == "ChatGLM4Tokenizer" else "hy.tiktoken"
    tokenizer = folder_of(tmp_path, name, settings, file=file)
    text = tokenizer.encode(TEXT)
    assert list(input_of(tokenizer, TEXT).ids) == [*before, *text, *after]
    pair = [*before, *text, *text] if file == "tokenizer.model" else [*before, *text, *after] * 2
    assert list(input_of(tokenizer, TEXT, TEXT).ids) == pair


def test_class_with_differing_versions_is_reported_unless_the_folder_decides(tmp_path: Path) -> None:
    folder_of(tmp_path, "HYTokenizer", {}, file="hy.tiktoken")
    assert [warning for warning in opened(tmp_path).warnings if "versions of HYTokenizer differ" in warning]
    folder_of(tmp_path, "HYTokenizer", {"add_bos_token": False}, file="hy.tiktoken")
    assert opened(tmp_path).warnings == ()


def test_kimi_special_tokens_have_listed_names_or_numbers(tmp_path: Path) -> None:
    listed = {
        str(SIZE): {"content": "[BOS]", "special": True},
        str(SIZE + 2): {"content": "<|endoftext|>", "special": False},
    }
    settings = {"added_tokens_decoder": listed, "bos_token": "[BOS]"}
    tokenizer = folder_of(tmp_path, "TikTokenTokenizer", settings, file="tiktoken.model")
    specials = dict(tokenizer.info.special_tokens)
    assert len(specials) == 256
    assert specials["[BOS]"] == SIZE
    assert specials[f"<|reserved_token_{SIZE + 1}|>"] == SIZE + 1
    assert tokenizer.encode(TEXT, special=SpecialPolicy.ENCODE) == ids_of(KIMI, {"<|endoftext|>": SIZE + 2})


def test_kimi_audio_has_its_own_pattern_and_ids(tmp_path: Path) -> None:
    settings = {"auto_map": {"AutoTokenizer": "tokenization_kimia.TikTokenTokenizer"}}
    tokenizer = folder_of(tmp_path, "", settings, file="tiktoken.model")
    specials = dict(tokenizer.info.special_tokens)
    assert specials["<|im_kimia_speech_ctd_id|>"] == SIZE + 33
    assert specials["<|reserved_token_19|>"] == SIZE + 31
    assert max(specials.values()) == SIZE + 420
    assert tokenizer.encode(TEXT) == ids_of(QWEN, {})
    decomposed = "e\u0301"  # this class, unlike Qwen's, does not normalize
    assert tokenizer.decode(tokenizer.encode(decomposed)) == decomposed


def test_listed_special_tokens_of_glm_replace_those_of_its_class(tmp_path: Path) -> None:
    listed = {str(SIZE + 5): {"content": "<|user|>", "special": True}}
    settings = {"added_tokens_decoder": listed}
    tokenizer = folder_of(tmp_path, "ChatGLM4Tokenizer", settings, file="tokenizer.model")
    assert dict(tokenizer.info.special_tokens) == {"<|user|>": SIZE + 5}


@pytest.mark.parametrize(
    ("part", "token", "place"), [("visual", "<imgpad>", 216), ("audio", "</audio>", 3521)]
)
def test_qwen_with_images_or_audio_has_tokens_for_them(
    tmp_path: Path, part: str, token: str, place: int
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "qwen", part: {}}))
    specials = folder_of(tmp_path, "QWenTokenizer", {}, file="qwen.tiktoken").info.special_tokens
    assert specials["<|endoftext|>"] == SIZE
    assert specials[token] == SIZE + place == max(specials.values())


def test_unknown_class_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="neither its content nor its ZhinaoTokenizer is known here"):
        folder_of(tmp_path, "ZhinaoTokenizer", {}, file="360.tiktoken")
    assert tokbench.load(tmp_path, pattern="gpt4").info.special_tokens == {}
