"""Turns that are taken from an example are those that a search finds, and a corpus of one form needs one search."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.rendering import said

from tokbench.chat.conversation import Conversation
from tokbench.chat.example_turns import _Form
from tokbench.chat.jinja.template import JinjaTemplate
from tokbench.chat.rendered import TEMPLATE, Origin, Rendered, Turn
from tokbench.chat.turns import TurnFinder

if TYPE_CHECKING:
    from collections.abc import Sequence

PLAIN = (
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{{ '<|im_start|>assistant\n' if add_generation_prompt }}"
)
REWRITES = (
    "{{ messages|length }}{% set ns = namespace(last=-1) %}"
    "{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}"
    "{% for m in messages %}{% set text = m.content | trim %}"
    "{% if '</think>' in text and loop.index0 < ns.last %}{% set text = text.split('</think>')[-1] %}{% endif %}"
    "<|im_start|>{{ m.role }}{{ ' in words' if text|length > 4 }}\n"
    "{% if m.reasoning_content and loop.index0 > ns.last %}<think>{{ m.reasoning_content }}</think>{% endif %}"
    "{{ text }}<|im_end|>\n{% endfor %}{{ '<|im_start|>assistant\n<think>' if add_generation_prompt }}"
)
"""White space is stripped, long texts have another header, and reasoning is only written after the last question."""

LONG = (
    "{% for m in messages %}{{ '(long)' if m.content|length > 4 }}"
    "{% if m.role == 'assistant' %}<|im_start|>assistant\n<hm>{% else %}<|im_start|>user\n{% endif %}"
    "{{ m.content }}<|im_end|>\n{% endfor %}{{ '<|im_start|>assistant\n' if add_generation_prompt }}"
)
"""The text before a turn depends on its content, and the turn begins with text of the template."""

BARE = "{% for m in messages %}{{ m.content }}\n{% endfor %}"
"""A template without any header or end of a turn."""

SPECIAL_TOKENS = frozenset(["<|im_start|>", "<|im_end|>"])

ANSWERS = [
    "yes",
    "Yes, of course.\nIt is.",
    " led",
    "trailing\n\n",
    "",
    "\n",
    "<think>hm</think>yes",
    "<|im_end|>",
]


def talks() -> list[Conversation]:
    """Return conversations of a few forms."""
    found = [
        Conversation(tuple(said(("user", "Q"), ("assistant", first), ("user", "R"), ("assistant", second))))
        for first in ANSWERS
        for second in ANSWERS
    ]
    reasoned = {"role": "assistant", "content": "It is.", "reasoning_content": "Is it?"}
    found += [
        Conversation(
            (*said(("system", word), ("user", f"{word}?")), reasoned, *said(("user", word)), reasoned)
        )
        for word in ("a", "bc", "Be brief.")
    ]
    call = {"role": "assistant", "content": "", "tool_calls": [{"name": "f"}]}
    return [*found, Conversation((*said(("user", "Q")), call, *said(("tool", "3"), ("assistant", "Three."))))]


def rendered_by(renderer: JinjaTemplate, conversations: Sequence[Conversation]) -> list[Rendered]:
    texts = renderer.render(conversations)
    assert all(isinstance(text, Rendered) for text in texts)
    return [text for text in texts if isinstance(text, Rendered)]


@pytest.mark.parametrize("source", [PLAIN, REWRITES, LONG, BARE])
def test_turns_are_those_that_a_search_finds(source: str) -> None:
    """Whether others were searched before does not matter."""
    renderer = JinjaTemplate("mine", source, special_tokens={"bos_token": "<s>"})
    conversations = talks()
    texts = rendered_by(renderer, conversations)
    finder = TurnFinder(renderer, special_tokens=SPECIAL_TOKENS, bos="<s>")
    together = finder.with_turns(conversations, texts)
    assert together == finder._searched(conversations, texts)
    for conversation, text, found in list(zip(conversations, texts, together, strict=True))[::7]:
        alone = TurnFinder(renderer, special_tokens=SPECIAL_TOKENS, bos="<s>")
        assert alone.with_turns([conversation], [text]) == [found]


def test_conversations_of_one_form_need_one_search(monkeypatch: pytest.MonkeyPatch) -> None:
    beginnings: list[Any] = []

    def render(self: JinjaTemplate, wanted: Sequence[Any], **options: Any) -> list[str | None]:
        beginnings.extend(wanted)
        return original(self, wanted, **options)

    original = JinjaTemplate.render_beginnings
    monkeypatch.setattr(JinjaTemplate, "render_beginnings", render)
    renderer = JinjaTemplate("mine", PLAIN)
    conversations = [
        Conversation(tuple(said(("user", f"Is {number} even?"), ("assistant", "y" * number))))
        for number in range(1, 100)
    ]
    finder = TurnFinder(renderer, special_tokens=SPECIAL_TOKENS)
    for part in (conversations[:50], conversations[50:]):
        found = finder.with_turns(part, rendered_by(renderer, part))
        assert all(
            text.text[start:stop].strip("y") == "<|im_end|>"
            for text in found
            for message, start, stop in text.turns
            if message == 1
        )
    assert len(beginnings) == 1


def test_variables_of_the_template_belong_to_the_form() -> None:
    """The same text has other turns if the generation prompt is no prefix of it, as with thinking here."""
    thinking = PLAIN.replace("assistant\n'", "assistant\n' ~ ('<think>' if thinking else '')")
    renderer = JinjaTemplate("mine", thinking)
    messages = tuple(said(("user", "Q"), ("assistant", "A")))
    conversations = [Conversation(messages, variables={"thinking": choice}) for choice in (False, True)]
    texts = rendered_by(renderer, conversations)
    assert texts[0].text == texts[1].text
    finder = TurnFinder(renderer)
    without, thinks = finder.with_turns(conversations, texts)
    assert without.turns != thinks.turns
    assert [without, thinks] == finder._searched(conversations, texts)


def test_content_that_is_written_in_part_is_searched() -> None:
    """In a history, this template cuts content at a mark, so the beginning is not a prefix of the text."""
    cutting = PLAIN.replace("m.content", "(m.content.split('##')[-1] if not loop.last else m.content)")
    renderer = JinjaTemplate("mine", cutting)
    conversations = [
        Conversation(tuple(said(("user", "Q"), ("assistant", answer), ("user", "R"), ("assistant", "B"))))
        for answer in ("A", "hm##A")
    ]
    texts = rendered_by(renderer, conversations)
    assert texts[0].text == texts[1].text
    finder = TurnFinder(renderer, special_tokens=SPECIAL_TOKENS)
    applied = finder._examples.applied(conversations, texts, finder._searched)
    assert [text is not None for text in applied] == [True, False]


def test_template_that_asks_for_markup_in_content_is_searched() -> None:
    """Before a question that is a result of a tool, this template refuses the messages of a turn."""
    asks = "{{ raise_exception('no question') if '<result>' in messages[0].content and messages|length < 3 }}"
    renderer = JinjaTemplate("mine", asks + PLAIN)
    asked = (("user", "<result>3</result>"), ("assistant", "A"), ("user", "R"), ("assistant", "B"))
    conversation = Conversation(tuple(said(*asked)))
    finder = TurnFinder(renderer, special_tokens=SPECIAL_TOKENS)
    assert finder._examples.applied(
        [conversation], rendered_by(renderer, [conversation]), finder._searched
    ) == [None]


@pytest.mark.parametrize(("start", "is_form"), [(2, True), (3, False), (4, True)])
def test_turn_that_begins_inside_content_is_no_example(start: int, *, is_form: bool) -> None:
    """In contents of other lengths, nothing says where that is."""
    rendered = Rendered.of([("Q:", TEMPLATE), ("x\n", Origin(0, "content")), ("\nA", TEMPLATE)])
    form = _Form.of(rendered, replace(rendered, turns=(Turn(0, start, 5),)))
    assert (form is not None) == is_form
