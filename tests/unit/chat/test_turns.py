"""Inferred turns equal those that built-in templates report, whatever the method of inference."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations import conversations, plain_texts
from support.rendering import said

from tokbench.chat.contents import SpecialTokens
from tokbench.chat.conversation import Conversation
from tokbench.chat.formats import named
from tokbench.chat.jinja.template import JinjaTemplate
from tokbench.chat.rendered import Rendered
from tokbench.chat.turns import TurnFinder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.errors import TemplateError


@dataclass
class Silent:
    """A built-in template that does not report turns, and may write a prefix that later turns change."""

    format: str
    counts: bool = False
    name: str = "silent"

    def render(
        self, conversations: Sequence[Conversation], *, prompt: bool = False
    ) -> list[Rendered | TemplateError]:
        results = named(self.format).render(conversations, prompt=prompt)
        return [self._changed(each, len(c.messages)) for each, c in zip(results, conversations, strict=True)]

    def _changed(self, rendered: Rendered | TemplateError, count: int) -> Rendered | TemplateError:
        if not isinstance(rendered, Rendered):
            return rendered
        parts = [(rendered.text[a:b], origin) for a, b, origin in rendered.runs]
        front = [(f"{count} messages\n", parts[0][1])] if self.counts else []
        return Rendered.of([*front, *parts])


def inferred(conversation: Conversation, format: str, *, counts: bool = False) -> Rendered:
    renderer = Silent(format, counts=counts)
    [rendered] = renderer.render([conversation])
    assert isinstance(rendered, Rendered)
    finder = TurnFinder(renderer, special_tokens=frozenset(named(format).control_tokens))
    [with_inferred] = finder.with_turns([conversation], [rendered])
    return with_inferred


def assistant_turns(rendered: Rendered, conversation: Conversation) -> list[tuple[int, str]]:
    roles = [message["role"] for message in conversation.messages]
    return [(m, rendered.text[a:b]) for m, a, b in rendered.turns if roles[m] == "assistant"]


TALK = Conversation(
    tuple(said(("system", "S"), ("user", "Q"), ("assistant", "A b"), ("user", "R"), ("assistant", "C")))
)


@given(conversation=conversations(plain_texts), format=st.sampled_from(["chatml", "llama3", "gemma"]))
def test_assistant_turns_are_inferred_from_prefixes(conversation: Conversation, format: str) -> None:
    [told] = named(format).render([conversation])
    if isinstance(told, Rendered):
        assert assistant_turns(inferred(conversation, format), conversation) == assistant_turns(
            told, conversation
        )


def test_assistant_turns_are_inferred_from_origins() -> None:
    for format in ("chatml", "llama3", "gemma"):
        [told] = named(format).render([TALK])
        assert isinstance(told, Rendered)
        assert assistant_turns(inferred(TALK, format, counts=True), TALK) == assistant_turns(told, TALK)


def test_reported_turns_are_kept() -> None:
    renderer = named("chatml")
    [told] = renderer.render([TALK])
    assert isinstance(told, Rendered)
    odd = replace(told, turns=told.turns[:1])
    assert TurnFinder(renderer).with_turns([TALK], [odd]) == [odd]


def test_user_turns_are_inferred() -> None:
    rendered = inferred(TALK, "chatml")
    assert [(m, rendered.text[a:b]) for m, a, b in rendered.turns][1] == (1, "Q<|im_end|>")


@pytest.mark.parametrize("value", [True, None, 3, "x"])
@pytest.mark.parametrize(
    "written", ["{{ call.name }}({{ call.value | tojson }})", "{{ {call.name: call.value} | tojson }}"]
)
def test_turn_ends_after_a_value_that_cannot_be_traced(value: object, written: str) -> None:
    source = (
        "{{ messages|length }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
        "{% for call in m.tool_calls %}" + written + "{% endfor %}<|im_end|>\n{% endfor %}"
    )
    call = {"role": "assistant", "content": "", "tool_calls": [{"name": "f", "value": value}]}
    talk = Conversation((call, {"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}))
    renderer = JinjaTemplate("mine", source)
    [rendered] = renderer.render([talk])
    assert isinstance(rendered, Rendered)
    [found] = TurnFinder(renderer, special_tokens=frozenset(["<|im_end|>"])).with_turns([talk], [rendered])
    assert assistant_turns(found, talk)[1] == (2, "A<|im_end|>")
    text = assistant_turns(found, talk)[0][1]
    assert text.removeprefix("{") in {
        f"f({json.dumps(value)})<|im_end|>",
        f'"f": {json.dumps(value)}}}<|im_end|>',
    }


@pytest.mark.parametrize("before", ["", "{{ messages|length }}"])
@pytest.mark.parametrize("end", ["<|im_end|>", "</s>"])
@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("<tool_call>", "</tool_call>"),
        ("[CALL]", "[/CALL]"),
        ("<|tool_call_begin|>", "<|tool_call_end|>"),
        ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
    ],
)
def test_turn_with_a_call_ends_after_the_call(before: str, end: str, opening: str, closing: str) -> None:
    """The special token that closes the call is part of the turn, as the one after it is."""
    source = (
        before + "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% for call in m.tool_calls %}"
        + opening + "{{ call.name }}" + closing + "\n{% endfor %}" + end + "\n{% endfor %}"
        "{{ '<|im_start|>assistant\n' if add_generation_prompt }}"
    )  # fmt: skip
    calls = {"role": "assistant", "content": "", "tool_calls": [{"name": "f"}, {"name": "g"}]}
    user = {"role": "user", "content": "Q"}
    talk = Conversation((user, calls, user, {"role": "assistant", "content": "A"}))
    renderer = JinjaTemplate("mine", source)
    [rendered] = renderer.render([talk])
    assert isinstance(rendered, Rendered)
    specials = frozenset(["<|im_start|>", end, opening, closing])
    [found] = TurnFinder(renderer, special_tokens=specials).with_turns([talk], [rendered])
    assert assistant_turns(found, talk) == [
        (1, f"{opening}f{closing}\n{opening}g{closing}\n{end}"),
        (3, f"A{end}"),
    ]


@pytest.mark.parametrize("before", ["", "{{ messages|length }}"])
@pytest.mark.parametrize(("mark", "after"), [("<|{}|>\n", ""), ("<|{}|>\n", "\n"), ("<｜{}｜>", "")])
def test_header_belongs_to_its_message_where_no_token_ends_messages(
    before: str, mark: str, after: str
) -> None:
    """Whether the turns of the assistant are found from beginnings, or all from origins."""
    names = {"system": "System", "user": "user", "assistant": "assistant"}
    headers = {role: mark.format(name) for role, name in names.items()}
    source = (
        before + f"{{% set headers = {headers!r} %}}{{% for m in messages %}}{{{{ headers[m.role] }}}}"
        f"{{{{ m.content }}}}{after}{{% endfor %}}{{{{ headers.assistant if add_generation_prompt }}}}"
    )
    renderer = JinjaTemplate("mine", source)
    [rendered] = renderer.render([TALK])
    assert isinstance(rendered, Rendered)
    specials = frozenset(header.strip() for header in headers.values())
    [found] = TurnFinder(renderer, special_tokens=specials, bos=None).with_turns([TALK], [rendered])
    texts = [found.text[start:stop] for _, start, stop in found.turns]
    assert texts == ["S", "Q", "A b", "R", "C"]
    shown = [
        "".join(found.text[run.start : run.stop] for run in found.runs if run.origin.message == number)
        for number in range(5)
    ]
    written = [headers[said["role"]] + said["content"] + after for said in TALK.messages]
    assert shown[1:] == written[1:]
    assert shown[0].endswith(written[0])


@pytest.mark.parametrize("before", ["", "{{ messages|length }}"])
@pytest.mark.parametrize("marks", [("<{}>", "</{}>"), ("[{}]", "[/{}]"), ("<|{}|>", "<|/{}|>")])
def test_closing_token_with_the_name_of_a_role_ends_its_message(before: str, marks: tuple[str, str]) -> None:
    opening, closing = (
        {role: mark.format(role) for role in ("system", "user", "assistant")} for mark in marks
    )
    source = (
        before + f"{{% set opening, closing = {opening!r}, {closing!r} %}}{{% for m in messages %}}"
        "{{ opening[m.role] }}{{ m.content }}{{ closing[m.role] }}\n{% endfor %}"
        "{{ opening.assistant if add_generation_prompt }}"
    )
    renderer = JinjaTemplate("mine", source)
    [rendered] = renderer.render([TALK])
    assert isinstance(rendered, Rendered)
    specials = frozenset([*opening.values(), *closing.values()])
    [found] = TurnFinder(renderer, special_tokens=specials).with_turns([TALK], [rendered])
    texts = [found.text[start:stop] for _, start, stop in found.turns]
    assert texts == [said["content"] + closing[said["role"]] for said in TALK.messages]


def test_role_without_marks_is_no_header() -> None:
    assert SpecialTokens(["<|start|>", "assistant"]).first_end("assistant<|start|>") == len("assistant")


def test_token_that_closes_a_part_does_not_end_its_message() -> None:
    specials = SpecialTokens(["<call>", "</call>", "<s>", "</s>", "<|user|>"])
    text = "\n</call>\n</s><s>"
    assert specials.first_end(text) == len("\n</call>")
    assert specials.first_end(text, inside="<call>") == len("\n</call>\n</s>")
    assert specials.first_end("</s></call>", inside="<call>") == len("</s>")
    assert specials.first_end("</call>", inside="<call>") == len("</call>")
    assert specials.first_end("</call>\n<|user|>", inside="<call>") == len("</call>")
    assert specials.first_end("</call><s>", inside="<call>", header="<s>") == len("</call>")
    assert specials.first_end("</call>\n<call>", inside="<call>") == len("</call>")
    assert specials.first_end("</call> or <s>", inside="<call>") == len("</call>")
