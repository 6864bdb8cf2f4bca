"""Gemma: the assistant's role is `model`; the system message begins the first user turn."""

from __future__ import annotations

import pytest
from support.rendering import contents, said, turns, write

from tokbench.errors import TemplateError


def test_system_message_begins_the_first_user_turn():
    messages = said(("system", "Be brief. "), ("user", " Hi "), ("assistant", "Hello\n"))
    rendered = write("gemma", messages, prompt=True)
    assert rendered.text == (
        "<bos><start_of_turn>user\nBe brief. \n\nHi<end_of_turn>\n"
        "<start_of_turn>model\nHello<end_of_turn>\n"
        "<start_of_turn>model\n"
    )
    assert contents(rendered) == [(0, "content", "Be brief. "), (1, "content", "Hi"), (2, "content", "Hello")]
    assert turns(rendered) == [(0, "Be brief. \n\n"), (1, "Hi<end_of_turn>"), (2, "Hello<end_of_turn>")]


def test_content_parts_are_trimmed_separately():
    parts = [{"type": "text", "text": " a "}, {"type": "image"}, {"type": "text", "text": "b"}]
    rendered = write("gemma", said(("user", parts)))
    assert rendered.text == "<bos><start_of_turn>user\na<start_of_image>b<end_of_turn>\n"
    assert contents(rendered) == [(0, "content[0].text", "a"), (0, "content[2].text", "b")]


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        (said(("assistant", "Hi")), r"messages\[0\].role: expected 'user', found 'assistant'"),
        (said(("user", "Hi"), ("user", "Hi")), r"messages\[1\].role: expected 'assistant', found 'user'"),
        (said(("system", "Hi")), "followed by a user"),
        (said(("user", None)), "found null"),
        (said(("user", [{"type": "audio"}])), r"messages\[0\].content\[0\]: expected"),
        (said(("system", [{"text": "a"}, {"text": "b"}]), ("user", "Hi")), "found a list"),
    ],
)
def test_invalid_conversations_are_refused(messages, problem):
    with pytest.raises(TemplateError, match=problem):
        write("gemma", messages)
