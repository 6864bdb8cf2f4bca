"""A few tokens with huge ids: refused, or held in memory in proportion to the file."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

import tokbench
from tokbench.core.token_table import check_largest_id, ids_held
from tokbench.errors import ConfigError, ModelFormatError
from tokbench.formats.tokenizer_json import to_byte_level
from tokbench.opening.vocab_txt import bert_tokenizer_json, byte_level_tokenizer_json

if TYPE_CHECKING:
    from pathlib import Path

LARGE = 16_777_215
ALPHABET = {to_byte_level(bytes([byte])): byte for byte in range(256)}


def rank_file(largest: int) -> bytes:
    lines = [base64.b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256)]
    return b"".join([*lines, base64.b64encode(b"ab") + b" %d\n" % largest])


def word_level(vocab: dict[str, int]) -> dict[str, Any]:
    document = bert_tokenizer_json({"[UNK]": 0}, lowercase=True)
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0, **vocab}, "unk_token": "[UNK]"}
    return {**document, "model": model, "decoder": None}


@pytest.mark.parametrize("largest", [ids_held(257), LARGE, 2**32 - 2])
def test_huge_rank_is_refused(tmp_path: Path, largest: int) -> None:
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(rank_file(largest))
    with pytest.raises(ModelFormatError, match=f"ids below 262144 for 257 tokens, found the id {largest}"):
        tokbench.load(path, pattern="gpt4")


def test_gaps_in_the_ranks_are_allowed(tmp_path: Path) -> None:
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(rank_file(2**17))
    opened = tokbench.load(path, pattern="gpt4", special_tokens={"<|end|>": 200_000})
    assert opened.encode("abc") == [2**17, 99]


@pytest.mark.parametrize("largest", [2**18, LARGE, 10**30])
@pytest.mark.parametrize(
    "document",
    [
        lambda large: byte_level_tokenizer_json(
            {**ALPHABET, "ab": large}, [["a", "b"]], specials={}, patterns=["gpt2"]
        ),
        lambda large: bert_tokenizer_json({"[UNK]": 0, "a": large}, lowercase=True),
        lambda large: word_level({"a": large}),
    ],
)
def test_huge_id_in_a_tokenizer_json_is_refused(tmp_path: Path, document: Any, largest: int) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document(largest)), encoding="utf-8")
    with pytest.raises(ModelFormatError, match="an id from 0 to 262143, found"):
        tokbench.load(path)


def test_huge_id_in_a_vocab_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps({**ALPHABET, "ab": LARGE}), encoding="utf-8")
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\n", encoding="utf-8")
    with pytest.raises(ModelFormatError, match="found 16777215 for 'ab'"):
        tokbench.load(tmp_path)


@pytest.mark.parametrize("id", [2**18, LARGE, 10**30])
def test_huge_id_of_a_special_token_is_refused(tmp_path: Path, id: int) -> None:
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(rank_file(256))
    with pytest.raises(ConfigError, match=f"has the id {id}, which is impossible"):
        tokbench.load(path, pattern="gpt4", special_tokens={"X": id})


def test_larger_vocabulary_allows_larger_ids() -> None:
    check_largest_id(3_199_999, num_entries=200_000, path="a.json")
    with pytest.raises(ModelFormatError, match="ids below 3200000 for 200,000 tokens"):
        check_largest_id(3_200_000, num_entries=200_000, path="a.json")
