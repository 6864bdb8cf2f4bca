"""Tests for the change that would make a word one token."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import tokbench
from tokbench.explain.assembling import explain
from tokbench.explain.words import why_word

if TYPE_CHECKING:
    from pathlib import Path

VOCABULARY = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "a", "b", "ab"]


def document(**changes: Any) -> dict[str, Any]:
    """Return a BPE over characters with the merge of a and b."""
    model = {
        "type": "BPE",
        "vocab": {piece: id for id, piece in enumerate(VOCABULARY)},
        "merges": [["a", "b"]],
        "unk_token": "<unk>",
        "fuse_unk": True,
        "byte_fallback": False,
        **changes,
    }
    return {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "model": model}


@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize(
    ("word", "change", "merges"),
    [
        (
            "abé",
            '"é" in the vocabulary, and 1 more merge at the end of the list: "ab" + "é"',
            [["ab", "é"]],
        ),
        ("éa", '"é" in the vocabulary, and 1 more merge at the end of the list: "é" + "a"', [["é", "a"]]),
        ("aa", '1 more merge at the end of the list: "a" + "a"', [["a", "a"]]),
    ],
)
def test_character_without_a_token_must_become_one_before_it_merges(
    tmp_path: Path, byte_fallback: bool, word: str, change: str, merges: list[list[str]]
) -> None:
    def opened(**changes: Any) -> Any:
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps(document(byte_fallback=byte_fallback, **changes)), encoding="utf-8")
        return tokbench.load(path)

    answer = why_word(explain(opened(), word))
    assert answer.change == change
    assert [[left.decode(), right.decode()] for left, right in answer.merges] == merges
    vocabulary = {piece: id for id, piece in enumerate([*VOCABULARY, *({*word} - {*"ab"}), word])}
    changed = opened(vocab=vocabulary, merges=[["a", "b"], *merges])
    assert len(changed.encode(word)) == 1
