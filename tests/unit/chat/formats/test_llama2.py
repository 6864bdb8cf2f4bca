"""Llama 2: each exchange is a sequence of its own, and the system message is in the first."""

from __future__ import annotations

import pytest
from support.rendering import contents, said, turns, write

from tokbench.errors import TemplateError


def test_two_exchanges_with_a_system_message_render():
    messages = said(("system", "Be brief."), ("user", " Hi "), ("assistant", "Hello\n"), ("user", " Bye "))
    rendered = write("llama2", messages, prompt=True)
    assert rendered.text == (
        "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\n Hi [/INST] Hello </s><s>[INST] Bye [/INST]"
    )
    assert contents(rendered) == [
        (0, "content", "Be brief."),
        (1, "content", " Hi"),
        (2, "content", "Hello"),
        (3, "content", "Bye"),
    ]
    assert turns(rendered) == [
        (0, "Be brief.\n<</SYS>>"),
        (1, " Hi [/INST]"),
        (2, " Hello </s>"),
        (3, "Bye [/INST]"),
    ]
    assert rendered.ends_with_prompt


def test_prompt_ends_only_after_a_user_message():
    assert not write("llama2", said(("user", "Hi"), ("assistant", "Hello")), prompt=True).ends_with_prompt


def test_empty_first_question_drops_the_preceding_newlines():
    rendered = write("llama2", said(("system", "Be brief."), ("user", " \n")))
    assert rendered.text == "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>> [/INST]"


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        (said(("assistant", "Hi")), "expected 'user', found 'assistant'"),
        (said(("user", "Hi"), ("tool", "Hi")), "expected 'assistant', found 'tool'"),
        (said(("system", "Hi")), "followed by a user message"),
        (said(("user", None)), "found none"),
    ],
)
def test_invalid_conversations_are_refused(messages, problem):
    with pytest.raises(TemplateError, match=problem):
        write("llama2", messages)
