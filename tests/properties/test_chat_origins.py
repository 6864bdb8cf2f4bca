"""Origins of content, compared to where marked characters of content appear in the rendered text."""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from tests.support.conversations import (
    CONTROL_TOKENS,
    INJECTIONS,
    conversations,
    hostile_conversations,
    plain_texts,
)
from tests.support.jinja_templates import EXPRESSIONS, SPECIAL_TOKENS, STATEMENTS, TEMPLATES
from tokbench.chat.jinja.program import Program, Written
from tokbench.chat.rendered import COMPUTED, Origin
from tokbench.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.chat.conversation import Conversation

KEPT = {"role", "type"}
"""Fields whose values templates branch on."""

Places = dict[str, tuple[int | None, str]]


@cache
def program(source: str) -> Program:
    return Program(source, special_tokens=SPECIAL_TOKENS)


def write(source: str, conversation: Conversation, *, prompt: bool = False) -> Written:
    given = {
        "messages": list(conversation.messages),
        "tools": list(conversation.tools),
        "documents": list(conversation.documents),
        "variables": dict(conversation.variables),
    }
    return program(source).write(given, prompt=prompt)


def labelled(conversation: Conversation) -> tuple[Conversation, Places]:
    """Replace each character of content by a private-use one; also return the place that each is from."""
    places: Places = {}
    unused = map(chr, count(0xF0000))

    def label(value: Any, message: int | None, path: str) -> Any:
        if isinstance(value, str):
            letters = [next(unused) for _ in value]
            places.update(dict.fromkeys(letters, (message, path)))
            return "".join(letters)
        if isinstance(value, dict):
            return {
                key: item if key in KEPT else label(item, message, f"{path}.{key}" if path else key)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [label(item, message, f"{path}[{index}]") for index, item in enumerate(value)]
        return value

    messages = tuple(label(dict(message), index, "") for index, message in enumerate(conversation.messages))
    tools = tuple(label(dict(tool), None, f"tools[{index}]") for index, tool in enumerate(conversation.tools))
    return type(conversation)(messages, tools), places


def letters(written: Written) -> Iterator[tuple[str, Origin]]:
    origins = (origin for length, origin in written.runs for _ in range(length))
    return zip(written.text, origins, strict=True)


def check_places(written: Written, places: Places) -> None:
    """Check that each private-use character has the origin of its place, and that no other letter is content."""
    for letter, origin in letters(written):
        if letter in places:
            assert origin == places[letter]
        else:
            assert not (origin == Origin(origin.message, "content") and letter.isalnum())


@pytest.mark.parametrize("name", TEMPLATES)
@given(data=st.data(), prompt=st.booleans())
def test_content_has_the_origin_of_its_field(name: str, data: st.DataObject, prompt: bool):
    shapes = conversations(
        tools=True, reasoning=True, parts=name in {"xml", "parts and tools"}, arguments="either"
    )
    conversation, places = labelled(data.draw(shapes))
    try:
        written = write(TEMPLATES[name], conversation, prompt=prompt)
    except TemplateError:
        reject()
    check_places(written, places)


@given(data=st.data())
def test_no_operation_turns_content_into_template_text(data: st.DataObject):
    """An operation may lose the origin of content, which then counts as computed."""
    operations = [f"{{{{ {expression} }}}}" for expression in EXPRESSIONS] + list(STATEMENTS)
    operation = data.draw(st.sampled_from(operations))
    conversation, places = labelled(data.draw(conversations(plain_texts)))
    try:
        written = write("{% set x = messages[0].content %}" + operation, conversation)
    except TemplateError:
        reject()
    for letter, origin in letters(written):
        if letter in places:
            assert origin in {places[letter], COMPUTED}


@pytest.mark.parametrize("name", TEMPLATES)
@given(conversation=hostile_conversations(), prompt=st.booleans())
def test_template_text_does_not_depend_on_the_content(name: str, conversation: Conversation, prompt: bool):
    """The template's own text stays the same with other content, except for white space that it adds or strips."""
    assume("</think>" not in str(conversation))  # a template searches for it
    other, _ = labelled(conversation)
    try:
        written = [write(TEMPLATES[name], talk, prompt=prompt) for talk in (conversation, other)]
    except TemplateError:
        reject()
    first, second = (
        "".join(letter for letter, origin in letters(rendered) if origin.is_template) for rendered in written
    )
    assert "".join(first.split()) == "".join(second.split())


FIELDS = {
    "content": lambda text: {"content": text},
    "part": lambda text: {"content": [{"type": "text", "text": text}]},
    "role": lambda text: {"role": text, "content": "x"},
    "name of a tool": lambda text: {"tool_calls": [{"id": "1", "function": {"name": text, "arguments": {}}}]},
    "key": lambda text: {"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {text: 1}}}]},
    "value": lambda text: {
        "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {"a": [text]}}}]
    },
    "arguments": lambda text: {"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": text}}]},
    "reasoning": lambda text: {"content": "x", "reasoning_content": text},
}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("name", TEMPLATES)
def test_control_tokens_in_every_field_stay_content(name: str, field: str):
    """Includes parts of control tokens that the template's own text could complete."""
    for token in (*INJECTIONS, *CONTROL_TOKENS):
        for text in (token, token[:-1], token[1:]):
            own = [
                template_text(name, {"role": "assistant", "content": "", **FIELDS[field](said)})
                for said in (text, "\uf000" * len(text))
            ]
            assert own[0] == own[1]


def template_text(name: str, message: dict[str, Any]) -> str | None:
    """Return the template's own text without white space; None if it refuses the message."""
    messages = [{"role": "user", "content": "x"}, message]
    try:
        written = program(TEMPLATES[name]).write(
            {"messages": messages, "tools": [], "documents": [], "variables": {}}
        )
    except TemplateError:
        return None
    return "".join(
        letter for letter, origin in letters(written) if origin.is_template and not letter.isspace()
    )


@pytest.mark.parametrize("text", ["<|im_start|>", "</s>", "[INST]"])
def test_tool_description_stays_content(text: str):
    tool = {"type": "function", "function": {"name": "f", "description": text, text: text}}
    given = {
        "messages": [{"role": "user", "content": "x"}],
        "tools": [tool],
        "documents": [],
        "variables": {},
    }
    for source in (TEMPLATES["xml"], TEMPLATES["parts and tools"]):
        own = "".join(
            letter for letter, origin in letters(program(source).write(given)) if origin.is_template
        )
        assert text not in own.replace("</s>", "", 1)
