"""Tests on the page for byte-level BPE with added tokens that are not special, as in Phi and Qwen."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from support import huggingface
from support.page_tokenizers import opened, trained

from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import PageError
from tokbench.play_page.chat_check import ChatCheck, check_chat
from tokbench.play_page.chat_data import chat_data
from tokbench.play_page.tokenizer_data import tokenizer_data

if TYPE_CHECKING:
    from pathlib import Path

    from support.page_engine import Engine

    from tokbench.opening.request import Opened

CHATML = ("<|im_start|>", "<|im_end|>")


def with_added(folder: Path, *added: dict[str, Any]) -> Opened:
    """Open a document with further added tokens."""
    trained(folder / "saved", special_tokens=list(CHATML))
    document = json.loads((folder / "saved" / "tokenizer.json").read_text(encoding="utf-8"))
    for token in added:
        highest = max(each["id"] for each in document["added_tokens"])
        document["added_tokens"].append(huggingface.added(id=highest + 1, **{"special": False} | token))
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return opened(path)


def test_added_tokens_match_in_every_text_and_special_ones_if_requested(
    engine: Engine, tmp_path: Path
) -> None:
    mine = with_added(tmp_path, {"content": "<tool>"}, {"content": "    ", "normalized": True})
    data = tokenizer_data(mine, name="mine")
    for text in ("the     cat<tool>  sat", "<tool><|im_end|>", "    ", "<too l>", "naïve    <tool", ""):
        for policy in (SpecialPolicy.TEXT, SpecialPolicy.ENCODE):
            ids = engine.call("encode", data.to_json(), text, policy.value)["ids"]
            assert ids == list(mine.tokenizer.encode(text, special=policy)), text


def test_added_tag_is_a_control_token_in_conversations_and_added_spaces_are_text(tmp_path: Path) -> None:
    mine = with_added(tmp_path, {"content": "<tool>"}, {"content": "    "})
    data = tokenizer_data(mine, name="mine")
    special = [entry[0] for entry in data.fields["special"]]
    chat = chat_data(mine.tokenizer, special, date=datetime(2026, 2, 3, tzinfo=UTC))
    assert isinstance(check_chat(replace(data, chat=chat)), ChatCheck)


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ({"content": "cat", "single_word": True}, "matches whole words only"),
        ({"content": "<|im", "normalized": True}, "can share text with '<|im'"),
    ],
)
def test_unsupported_token_flags_are_refused(token: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(PageError, match=reason.replace("|", r"\|")):
        tokenizer_data(with_added(tmp_path, token), name="mine")


def test_byte_level_bpe_with_several_split_steps_is_refused(tmp_path: Path) -> None:
    trained(tmp_path / "saved", special_tokens=[])
    document = json.loads((tmp_path / "saved" / "tokenizer.json").read_text(encoding="utf-8"))
    document["pre_tokenizer"]["pretokenizers"].insert(0, {"type": "Digits", "individual_digits": True})
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(PageError, match=r"'mine': it splits in several steps \(Digits, Split"):
        tokenizer_data(opened(tmp_path / "mine"), name="mine")
