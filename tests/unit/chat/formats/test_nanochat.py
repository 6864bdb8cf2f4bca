"""nanochat: nine special tokens, and Python code and its output within the assistant's turn."""

from __future__ import annotations

import pytest
from support.rendering import contents, said, turns, write

from tokbench.errors import TemplateError

PARTS = [
    {"type": "text", "text": "Let me see. "},
    {"type": "python", "text": "1+1"},
    {"type": "python_output", "text": "2"},
    {"type": "text", "text": "Two."},
]


def test_system_message_begins_the_first_user_turn():
    rendered = write("nanochat", said(("system", "Be brief."), ("user", "Hi"), ("assistant", "Hello")))
    assert rendered.text == (
        "<|bos|><|user_start|>Be brief.\n\nHi<|user_end|><|assistant_start|>Hello<|assistant_end|>"
    )
    assert contents(rendered) == [(0, "content", "Be brief."), (1, "content", "Hi"), (2, "content", "Hello")]
    assert turns(rendered) == [(0, "Be brief.\n\n"), (1, "Hi<|user_end|>"), (2, "Hello<|assistant_end|>")]


def test_python_output_does_not_belong_to_the_assistant():
    rendered = write("nanochat", said(("user", "1+1?"), ("assistant", PARTS)))
    assert rendered.text == (
        "<|bos|><|user_start|>1+1?<|user_end|><|assistant_start|>Let me see. <|python_start|>1+1<|python_end|>"
        "<|output_start|>2<|output_end|>Two.<|assistant_end|>"
    )
    assert turns(rendered)[1:] == [
        (1, "Let me see. <|python_start|>1+1<|python_end|>"),
        (1, "Two.<|assistant_end|>"),
    ]
    assert contents(rendered)[1:] == [
        (1, "content[0].text", "Let me see. "),
        (1, "content[1].text", "1+1"),
        (1, "content[2].text", "2"),
        (1, "content[3].text", "Two."),
    ]


def test_output_at_the_start_of_a_turn_leaves_no_empty_turn():
    rendered = write("nanochat", said(("user", "?"), ("assistant", PARTS[2:])))
    assert turns(rendered) == [(0, "?<|user_end|>"), (1, "Two.<|assistant_end|>")]


def test_prompt_begins_the_assistants_turn():
    rendered = write("nanochat", said(("user", "Hi")), prompt=True)
    assert rendered.text == "<|bos|><|user_start|>Hi<|user_end|><|assistant_start|>"
    assert rendered.ends_with_prompt


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        (said(("assistant", "Hi")), "expected 'user', found 'assistant'"),
        (said(("user", "Hi"), ("user", "Hi")), "expected 'assistant', found 'user'"),
        (said(("system", "Hi")), "followed by a user message"),
        (said(("system", "Hi"), ("assistant", "Hi")), "expected 'user'"),
        (said(("user", [])), "not a list of parts"),
        (said(("user", "Hi"), ("assistant", None)), "found null"),
        (said(("user", "Hi"), ("assistant", [{"type": "image", "text": ""}])), "found 'image'"),
        (said(("user", "Hi"), ("assistant", ["Hi"])), r"content\[0\]: expected an object"),
        (
            said(("user", "Hi"), ("assistant", [{"type": "text"}])),
            r"content\[0\].text: expected a string, found null",
        ),
    ],
)
def test_invalid_conversations_are_refused(messages, problem):
    with pytest.raises(TemplateError, match=problem):
        write("nanochat", messages)


def test_prompt_after_an_assistant_message_is_refused():
    with pytest.raises(TemplateError, match="the last message must be"):
        write("nanochat", said(("user", "Hi"), ("assistant", "Hi")), prompt=True)
