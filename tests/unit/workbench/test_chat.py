"""Tests for what `tokbench chat` reports on seams and on masks that disagree."""

from __future__ import annotations

from functools import cache
from typing import Any

from support.rendering import said
from support.texts import bundled_texts

import tokbench
from tokbench.chat.conversation import Conversation
from tokbench.chat.template import ChatTemplate
from tokbench.workbench.chat import MaskDifference, encode_conversation

TALK = Conversation(tuple(said(("user", "\n\nHi"), ("assistant", "Yés"))))


@cache
def tokenizer() -> Any:
    return tokbench.train(
        [*list(bundled_texts().values())[:3], "a\n\n\nb\n\n\n" * 200],
        vocab_size=500,
        special_tokens=("<|im_start|>", "<|im_end|>"),
    )


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
