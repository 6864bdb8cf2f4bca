"""Fitting a built-in template to a vocabulary: who writes SentencePiece's space, and which tokens are missing."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from support.rendering import said
from support.sentencepiece_models import training_text

import tokbench
from tokbench.chat.conversation import Conversation
from tokbench.chat.formats import named
from tokbench.chat.formats.vocabulary import fitted
from tokbench.errors import TemplateError

TALK = said(("user", "a b"), ("assistant", "b a"))
PYTHON = said(("user", "a"), ("assistant", [{"type": "python", "text": "1"}]))


@cache
def byte_level(*specials: str) -> Any:
    return tokbench.train(training_text(), vocab_size=300, special_tokens=specials)


@cache
def sentencepiece() -> Any:
    return tokbench.train(
        training_text(), backend="sentencepiece", vocab_size=500, special_tokens=("[INST]", "[/INST]")
    )


def test_prefix_space_is_omitted_if_the_tokenizer_adds_it():
    template = tokbench.ChatTemplate("mistral-v3")
    tokenizer = sentencepiece()
    chat = template.encode(tokenizer, TALK)
    assert chat.rendered.text == "<s>[INST]a b[/INST]b a</s>"
    assert b"".join(tokenizer.token_bytes(id) for id in chat.ids.tolist()) == b"<s>[INST] a b[/INST] b a</s>"
    assert tokenizer.token_bytes(chat.ids[2]).startswith(b" a")


def test_prefix_space_is_written_if_the_tokenizer_does_not_add_it():
    tokenizer = byte_level("<s>", "</s>", "[INST]", "[/INST]")
    chat = tokbench.ChatTemplate("mistral-v3").encode(tokenizer, TALK)
    assert chat.rendered.text == "<s>[INST] a b[/INST] b a</s>"


def test_version_1_omits_spaces_after_tokens_only():
    assert fitted(named("mistral-v1"), sentencepiece()).render([Conversation((*TALK, *TALK))])[0].text == (
        "<s>[INST] a b [/INST] b a</s>[INST] a b [/INST] b a</s>"
    )


def test_formats_without_that_space_are_unchanged():
    assert fitted(named("chatml"), sentencepiece()) is named("chatml")


def test_missing_control_tokens_are_named():
    with pytest.raises(TemplateError, match=r"does not have <\|im_end\|>, which chatml needs") as raised:
        tokbench.ChatTemplate("chatml").encode(byte_level("<|im_start|>"), TALK)
    assert raised.value.hint is not None
    with pytest.raises(
        TemplateError, match=r"does not have <\|bos\|>, <\|user_start\|>, .* and <\|assistant_end"
    ):
        tokbench.ChatTemplate("nanochat").encode(byte_level("<|im_start|>"), TALK)


def test_tool_tokens_are_required_by_conversations_with_tools_only():
    tokenizer = byte_level(*named("nanochat").control_tokens)
    template = tokbench.ChatTemplate("nanochat")
    assert len(template.encode(tokenizer, said(("user", "<|python_start|>"), ("assistant", "b")))) > 0
    with pytest.raises(
        TemplateError, match=r"does not have <\|python_start\|> and <\|python_end\|>, which nano"
    ):
        template.encode(tokenizer, PYTHON)
