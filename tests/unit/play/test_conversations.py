"""Tests for reading texts as conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tokbench.errors import ModelFormatError, TemplateError
from tokbench.play import chat_screen
from tokbench.play.chat_screen import conversation_of_text, encode_chat
from tokbench.workbench.chat import ChatResult

if TYPE_CHECKING:
    from tokbench.play.columns import OpenTokenizer


def messages_of(text: str) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in conversation_of_text(text).messages]


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("low", [("user", "low")]),
        ("", [("user", "")]),
        ("user: low", [("user", "low")]),
        ("system:a\n\nuser:  b\nc", [("system", "a\n"), ("user", " b\nc")]),
        ("Hi\nassistant: x: y\nuser:", [("user", "Hi"), ("assistant", "x: y"), ("user", "")]),
        ("robot: Hi", [("user", "robot: Hi")]),
        (' [{"role": "user", "content": "low"}]', [("user", "low")]),
        ('{"messages": [{"role": "user", "content": "a"}]}', [("user", "a")]),
    ],
)
def test_text_is_parsed_into_messages(text: str, messages: list[tuple[str, str]]) -> None:
    assert messages_of(text) == messages


def test_malformed_json_conversation_is_refused() -> None:
    with pytest.raises(ModelFormatError):
        conversation_of_text('{"role": ')


def test_ids_and_mask_equal_those_of_the_chat_command(chatty: OpenTokenizer) -> None:
    result = encode_chat(chatty.tokenizer, "user: low\nassistant: lower")
    assert isinstance(result, ChatResult)
    learned = [
        id for id, is_learned in zip(result.chat.ids, result.chat.loss_mask, strict=True) if is_learned
    ]
    assert chatty.tokenizer.decode(learned).startswith("lower")


def test_template_can_be_named(chatty: OpenTokenizer) -> None:
    assert encode_chat(chatty.tokenizer, "user: low", template="chatml").template == "chatml"
    with pytest.raises(TemplateError, match="no chat template 'chatmll'"):
        encode_chat(chatty.tokenizer, "user: low", template="chatmll")


def test_too_long_text_is_refused(chatty: OpenTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_screen, "LONGEST", 5)
    with pytest.raises(TemplateError, match="6 characters"):
        encode_chat(chatty.tokenizer, "lowest")
