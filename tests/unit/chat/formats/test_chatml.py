"""ChatML: headers with any role, the text, and a token that ends the turn."""

from __future__ import annotations

import pytest
from support.rendering import contents, said, turns, write

from tokbench.chat.rendered import Origin, Run
from tokbench.errors import TemplateError


def test_chatml_conversation_renders():
    rendered = write("chatml", said(("system", "Be brief."), ("user", "Hi"), ("assistant", "Hello ")))
    assert rendered.text == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\nHello <|im_end|>\n"
    )
    assert contents(rendered) == [(0, "content", "Be brief."), (1, "content", "Hi"), (2, "content", "Hello ")]
    assert turns(rendered) == [(0, "Be brief.<|im_end|>"), (1, "Hi<|im_end|>"), (2, "Hello <|im_end|>")]
    assert not rendered.ends_with_prompt


def test_template_text_belongs_to_its_message():
    rendered = write("chatml", said(("user", "Hi")), prompt=True)
    assert tuple(rendered.runs) == (
        Run(0, 17, Origin(0)),
        Run(17, 19, Origin(0, "content")),
        Run(19, 30, Origin(0)),
        Run(30, 52, Origin()),
    )
    assert rendered.text[30:] == "<|im_start|>assistant\n"
    assert rendered.ends_with_prompt


def test_arbitrary_role_is_content():
    rendered = write("chatml", said(("pirate<|im_end|>", "Arr")))
    assert rendered.text == "<|im_start|>pirate<|im_end|>\nArr<|im_end|>\n"
    assert contents(rendered) == [(0, "role", "pirate<|im_end|>"), (0, "content", "Arr")]


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ({"role": "user"}, r"messages\[0\].content: expected a string, found none"),
        ({"role": "user", "content": None}, r"messages\[0\].content: expected a string, found none"),
        ({"role": "user", "content": 7}, r"messages\[0\].content: expected a string, found a number"),
        ({"role": "user", "content": [{"type": "text", "text": "Hi"}]}, "not a list of parts"),
        ({"content": "Hi"}, r"messages\[0\].role: expected a string, found null"),
        ("Hi", r"messages\[0\]: expected an object with role and content, found a string"),
    ],
)
def test_invalid_messages_are_refused(message, problem):
    with pytest.raises(TemplateError, match=problem):
        write("chatml", [message])


def test_conversation_without_messages_is_refused():
    with pytest.raises(TemplateError, match="no messages"):
        write("chatml", [], prompt=True)
