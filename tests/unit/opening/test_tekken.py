"""Tests for Mistral's tekken.json: ids after the special tokens, truncated ranks, and damaged files."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest
from support.small_files import TOKENS, opened

import tokbench
from tokbench import SpecialPolicy
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.opening.recognition import Format
from tokbench.workbench.convert import convert

if TYPE_CHECKING:
    from pathlib import Path

PATTERN = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPECIAL = ["<unk>", "<s>", "</s>", "[INST]"]


def entries(tokens: list[bytes]) -> list[dict[str, Any]]:
    return [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate(tokens)
    ]


def document(**changes: Any) -> dict[str, Any]:
    """Return a file with six special tokens (four have a text), 256 bytes, three tokens, and one rank too many."""
    config = {
        "pattern": PATTERN,
        "num_vocab_tokens": len(TOKENS) + 1,
        "default_vocab_size": len(TOKENS) + 6,
        "default_num_special_tokens": 6,
        "version": "v11",
    }
    return {
        "config": config,
        "vocab": entries([*TOKENS, b" lows"]),
        "special_tokens": [
            {"rank": rank, "token_str": text, "is_control": True} for rank, text in enumerate(SPECIAL)
        ],
    } | changes


def write(folder: Path, fields: dict[str, Any], *, name: str = "tekken.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(fields, indent=1), encoding="utf-8")
    return path


def test_a_folder_may_have_it_under_a_versioned_name(tmp_path: Path) -> None:
    write(tmp_path, document(), name="tekken_240911.json")
    assert opened(tmp_path).source.format is Format.TEKKEN


def test_ids_begin_after_the_special_tokens(tmp_path: Path) -> None:
    model = opened(write(tmp_path, document()))
    assert model.source.format is Format.TEKKEN
    tokenizer = model.tokenizer
    assert tokenizer.encode("low lows") == [6 + 257, 6 + 258, 6 + ord("s")]  # the rank b" lows" is cut off
    assert tokenizer.info.vocab_size == 265
    assert dict(tokenizer.info.special_tokens) == {
        **{text: id for id, text in enumerate(SPECIAL)},
        "<SPECIAL_4>": 4,
        "<SPECIAL_5>": 5,
    }
    assert tokenizer.encode("[INST]low", special=SpecialPolicy.ENCODE) == [3, 263]
    assert tokenizer.decode([1, 3, 263, 2]) == "<s>[INST]low</s>"
    assert {role: model.source.config.roles[role] for role in ("bos", "eos", "unk")} == {
        "bos": "<s>",
        "eos": "</s>",
        "unk": "<unk>",
    }


def test_ids_are_those_of_mistral_common(tmp_path: Path) -> None:
    tekken = pytest.importorskip("mistral_common.tokens.tokenizers.tekken", reason="needs mistral-common")
    path = write(tmp_path, document())
    theirs, ours = tekken.Tekkenizer.from_file(path), tokbench.load(path)
    for text in ["", "low lows  low", " low\n\nlow [INST]", "été ½ 12.3//\r\n", "\x00‍👩‍👩‍👧 漢字"]:
        assert ours.encode(text) == theirs.encode(text, bos=False, eos=False)
        assert ours.decode(ours.encode(text)) == text


def test_conversations_render_with_tekken_ids(tmp_path: Path) -> None:
    fields = document(special_tokens=None)
    fields["config"] |= {"default_num_special_tokens": 25, "default_vocab_size": 284}
    tokenizer = tokbench.load(write(tmp_path, fields))
    chat = tokenizer.render([{"role": "user", "content": "low"}])
    assert chat.ids.tolist() == [1, 3, 25 + 257, 4]  # no prefix space, unlike with SentencePiece


def test_special_tokens_missing_in_an_old_file_are_added(tmp_path: Path) -> None:
    fields = document()
    del fields["special_tokens"]
    fields["config"] |= {"version": "v3", "default_num_special_tokens": 25, "default_vocab_size": 284}
    tokenizer = tokbench.load(write(tmp_path, fields))
    assert tokenizer.info.special_tokens["[TOOL_CONTENT]"] == 19
    assert tokenizer.info.special_tokens["<SPECIAL_24>"] == 24
    assert tokenizer.encode("low") == [25 + 257]


def test_tekken_in_a_folder_comes_after_tokenizer_json_and_before_ranks(tmp_path: Path) -> None:
    write(tmp_path, document())
    (tmp_path / "other.tiktoken").write_bytes(b"YQ== 0\n")
    assert opened(tmp_path).source.format is Format.TEKKEN
    assert opened(tmp_path).tokenizer.info.name == tmp_path.name


@pytest.mark.usefixtures("short_proofs")
def test_conversion_keeps_the_ids(tmp_path: Path) -> None:
    tokenizer = tokbench.load(write(tmp_path, document()))
    convert(tokenizer, to="tokenizers", out=tmp_path / "made.json")
    converted = tokbench.load(tmp_path / "made.json")
    assert converted.encode("low lows") == [263, 264, 6 + ord("s")]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": 3}, "an object as config"),
        ({"config": {"pattern": ""}}, "a split pattern as config.pattern"),
        ({"config": {"pattern": "a", "default_num_special_tokens": -1}}, "config.default_num_special_tokens"),
        ({"vocab": entries(TOKENS[:258])}, "a list of 259 tokens as vocab, found 258"),
        ({"vocab": entries([*TOKENS[:258], TOKENS[257]])}, "first at rank 257"),
        ({"vocab": entries([TOKENS[1], TOKENS[0], *TOKENS[2:]])}, "the byte 0 as its token"),
        ({"vocab": [*entries(TOKENS[:258]), {"rank": 258, "token_bytes": "?"}]}, "a token in base64"),
        ({"special_tokens": [{"rank": 0, "token_str": "a"}] * 2}, "special token 1: expected each text"),
        ({"special_tokens": [{"rank": 9, "token_str": "a"}]}, "a text and its rank"),
        ({"special_tokens": [{}] * 7}, "at most 6 special_tokens"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        tokbench.load(write(tmp_path, document(**changes)))


def test_impossible_number_of_special_tokens_is_refused_early(tmp_path: Path) -> None:
    fields = document()
    fields["config"] |= {"default_num_special_tokens": 10**12, "default_vocab_size": 10**12 + 259}
    with pytest.raises(ModelFormatError, match="ids below 262144 for 259 tokens"):
        tokbench.load(write(tmp_path, fields))


def test_pattern_option_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="already defines what --pattern"):
        tokbench.load(write(tmp_path, document()), pattern="gpt4")
