"""Tests for what `tokbench chat` reports on seams, masks that disagree, and what a template leaves out."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any

import pytest
from support.rendering import said
from support.texts import bundled_texts

import tokbench
from tokbench.chat.conversation import Conversation
from tokbench.chat.conversation_files import ReadConversation
from tokbench.chat.template import ChatTemplate
from tokbench.workbench.chat import ChatResult, MaskDifference, encode_conversations

TALK = Conversation(tuple(said(("user", "\n\nHi"), ("assistant", "Yés"))))


@cache
def tokenizer() -> Any:
    return tokbench.train(
        [*list(bundled_texts().values())[:3], "a\n\n\nb\n\n\n" * 200],
        vocab_size=500,
        special_tokens=("<|im_start|>", "<|im_end|>"),
    )


def encode_conversation(
    tokenizer: Any, template: ChatTemplate, conversation: Conversation, **options: Any
) -> ChatResult:
    read = ReadConversation(conversation, "the conversation", num_bytes=0)
    [result] = encode_conversations(tokenizer, template, [read], **options)
    return result


def test_seams_that_change_ids_are_reported() -> None:
    result = encode_conversation(tokenizer(), ChatTemplate("chatml"), TALK, by_segment=True)
    assert result.seams
    [seam] = result.seams
    assert seam.text == "\n\n\n"
    assert tokenizer().decode(list(seam.joint)) == tokenizer().decode(list(seam.apart)) == "\n\n\n"
    assert len(seam.joint) == 1
    assert seam.apart == (*tokenizer().encode("\n"), *tokenizer().encode("\n\n"))
    assert result.to_json()["seams"][0]["text"] == "\n\n\n"


def test_segments_without_a_changed_seam_report_none() -> None:
    talk = Conversation(tuple(said(("user", "Hi"), ("assistant", "Yes"))))
    assert encode_conversation(tokenizer(), ChatTemplate("chatml"), talk, by_segment=True).seams == ()
    assert encode_conversation(tokenizer(), ChatTemplate("chatml"), talk).seams is None


def test_generation_blocks_are_compared_with_the_turns() -> None:
    template = ChatTemplate.from_text(
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}"
        "{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    result = encode_conversation(tokenizer(), template, TALK)
    start = len("<|im_start|>user\n\n\nHi<|im_end|>\n<|im_start|>assistant\nYés".encode())
    assert result.mask_differences == (MaskDifference(start, start + 10, "<|im_end|>", generated=False),)
    learned = [piece for piece, one in zip(result.pieces, result.chat.loss_mask, strict=True) if one]
    assert b"".join(learned) == "Yés".encode()
    assert encode_conversation(tokenizer(), template, TALK, train_on=["user"]).mask_differences == ()


def test_tokens_are_counted_by_role() -> None:
    result = encode_conversation(tokenizer(), ChatTemplate("chatml"), TALK, prompt=True)
    assert sum(result.tokens_by_role.values()) == len(result.chat)
    assert list(result.tokens_by_role) == ["user", "assistant", "template"]


_TURNS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ CONTENT }}<|im_end|>\n{% endfor %}"
_CALL = {"type": "function", "function": {"name": "weather", "arguments": {"city": "Rome"}}}
_TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
_CALLS = Conversation(
    (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Rome?"}]},
        {"role": "assistant", "content": None, "tool_calls": [_CALL]},
        {"role": "tool", "content": " \n"},
    ),
    tools=(_TOOL,),
)


def test_tools_and_documents_are_sections_of_their_own() -> None:
    """A list of two tools is one section, with the line ends between and after them."""
    source = (
        "Tools:\n{% for t in tools %}{{ t.function.name }}\n{% endfor %}\n#{{ documents[0].text }}" + _TURNS
    )
    talk = replace(_CALLS, tools=(_TOOL, _TOOL), documents=({"text": "Rome"},))
    template = ChatTemplate.from_text(source.replace("CONTENT", "m.content"))
    result = encode_conversation(tokenizer(), template, talk)
    assert [
        (section, b"".join(piece for piece, _ in group).decode())
        for section, group in groupby(zip(result.pieces, result.sections, strict=True), key=itemgetter(1))
    ][:4] == [
        (None, "Tools:\n"),
        ("tools", "weather\nweather\n"),
        (None, "#"),
        ("documents", "Rome"),
    ]
    assert sum(result.tokens_by_role.values()) == len(result.chat)
    assert list(result.tokens_by_role)[:3] == ["template", "tools", "documents"]


@pytest.mark.parametrize(
    ("source", "left_out"),
    [
        (_TURNS.replace("CONTENT", "m.content|string|upper"), ("messages[2].tool_calls", "tools")),
        (
            _TURNS.replace("messages", "messages[1:]").replace("CONTENT", "m.content|string"),
            ("messages[0].content", "messages[2].tool_calls", "tools"),
        ),
        ("{{ tools|tojson }}{{ messages|tojson }}", ()),
        (
            "no placeholder at all",
            ("messages[0].content", "messages[1].content", "messages[2].tool_calls", "tools"),
        ),
        ("{{ messages|length }}", ()),  # computed, and nobody knows from what
    ],
)
def test_parts_left_out_by_a_template_are_reported(source: str, left_out: tuple[str, ...]) -> None:
    result = encode_conversation(tokenizer(), ChatTemplate.from_text(source), _CALLS)
    assert result.left_out == left_out
    assert result.to_json()["left_out"] == list(left_out)


def test_a_built_in_template_leaves_nothing_out() -> None:
    talk = Conversation(tuple(said(("system", "Be brief."), ("user", "Hi"), ("assistant", "Yes"))))
    assert encode_conversation(tokenizer(), ChatTemplate("chatml"), talk).left_out == ()


def test_a_template_without_a_generation_prompt_is_reported() -> None:
    turns = _TURNS.replace("CONTENT", "m.content")
    prompt = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    without, having = ChatTemplate.from_text(turns), ChatTemplate.from_text(turns + prompt)
    assert encode_conversation(tokenizer(), without, TALK).has_prompt is None
    assert encode_conversation(tokenizer(), without, TALK, prompt=True).has_prompt is False
    assert encode_conversation(tokenizer(), having, TALK, prompt=True).has_prompt is True
    assert encode_conversation(tokenizer(), ChatTemplate("chatml"), TALK, prompt=True).has_prompt is True
