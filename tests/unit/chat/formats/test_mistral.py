"""Mistral: five versions of one format, with different spaces, tools and places of the system message."""

from __future__ import annotations

import pytest
from support.rendering import contents, said, turns, write

from tokbench.errors import TemplateError

TALK = said(("system", "Be brief."), ("user", "Hi"), ("assistant", "Hello "), ("user", "Bye"))
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
TOOL_TEXT = (
    '[{"type": "function", "function": {"name": "add", "description": "", "parameters": {"type": "object"}}}]'
)


def call(id: str = "abcdefghi", arguments: object = '{"a":1}') -> dict[str, object]:
    return {"id": id, "type": "function", "function": {"name": "add", "arguments": arguments}}


def result(content: str, id: str = "abcdefghi") -> dict[str, object]:
    return {"role": "tool", "name": "add", "tool_call_id": id, "content": content}


SUM = [*said(("user", "1+1?")), {"role": "assistant", "tool_calls": [call()]}, result("2")]


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("mistral-v1", "<s> [INST] Be brief.\n\nHi [/INST] Hello </s> [INST] Bye [/INST]"),
        ("mistral-v2", "<s>[INST] Hi[/INST] Hello</s>[INST] Be brief.\n\nBye[/INST]"),
        ("mistral-v3", "<s>[INST] Hi[/INST] Hello</s>[INST] Be brief.\n\nBye[/INST]"),
        ("mistral-v3-tekken", "<s>[INST]Hi[/INST]Hello</s>[INST]Be brief.\n\nBye[/INST]"),
        (
            "mistral-v7",
            "<s>[SYSTEM_PROMPT] Be brief.[/SYSTEM_PROMPT][INST] Hi[/INST] Hello</s>[INST] Bye[/INST]",
        ),
        (
            "mistral-v7-tekken",
            "<s>[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][INST]Hi[/INST]Hello</s>[INST]Bye[/INST]",
        ),
    ],
)
def test_conversation_renders_in_each_version(format, text):
    rendered = write(format, TALK, prompt=True)
    assert rendered.text == text
    assert rendered.ends_with_prompt


def test_turns_belong_to_their_messages():
    first = write("mistral-v1", TALK)
    assert turns(first) == [(0, " Be brief.\n\n"), (1, "Hi [/INST]"), (2, " Hello </s>"), (3, " Bye [/INST]")]
    third = write("mistral-v3-tekken", TALK)
    assert turns(third) == [(1, "Hi[/INST]"), (2, "Hello</s>"), (0, "Be brief.\n\n"), (3, "Bye[/INST]")]
    assert contents(third) == [
        (1, "content", "Hi"),
        (2, "content", "Hello"),
        (0, "content", "Be brief."),
        (3, "content", "Bye"),
    ]


@pytest.mark.parametrize(
    ("format", "text"),
    [
        (
            "mistral-v2",
            f"<s>[AVAILABLE_TOOLS] {TOOL_TEXT}[/AVAILABLE_TOOLS][INST] 1+1?[/INST]"
            '[TOOL_CALLS] [{"name": "add", "arguments": {"a": 1}}]</s>'
            '[TOOL_RESULTS] [{"name": "add", "content": 2}][/TOOL_RESULTS]',
        ),
        (
            "mistral-v3",
            f"<s>[AVAILABLE_TOOLS] {TOOL_TEXT}[/AVAILABLE_TOOLS][INST] 1+1?[/INST]"
            '[TOOL_CALLS] [{"name": "add", "arguments": {"a": 1}, "id": "abcdefghi"}]</s>'
            '[TOOL_RESULTS] {"content": 2, "call_id": "abcdefghi"}[/TOOL_RESULTS]',
        ),
        (
            "mistral-v7-tekken",
            f"<s>[AVAILABLE_TOOLS]{TOOL_TEXT}[/AVAILABLE_TOOLS][INST]1+1?[/INST]"
            '[TOOL_CALLS][{"name": "add", "arguments": {"a": 1}, "id": "abcdefghi"}]</s>'
            "[TOOL_RESULTS]abcdefghi[TOOL_CONTENT]2[/TOOL_RESULTS]",
        ),
    ],
)
def test_tools_render_in_each_version(format, text):
    rendered = write(format, SUM, tools=[TOOL], prompt=True)
    assert rendered.text == text
    assert [message for message, _ in turns(rendered)] == [0, 1, 2]
    assert (1, "tool_calls[0].function.arguments", '{"a": 1}') in contents(rendered)
    assert rendered.ends_with_prompt


def test_version_2_drops_calls_before_the_last_question():
    messages = [*SUM, *said(("assistant", "Two."), ("user", "Sure?"))]
    assert write("mistral-v2", messages).text == "<s>[INST] 1+1?[/INST] Two.</s>[INST] Sure?[/INST]"
    assert "[TOOL_CALLS]" in write("mistral-v3", messages).text


def test_adjacent_messages_of_one_role_are_joined():
    rendered = write(
        "mistral-v7-tekken", said(("user", "a"), ("user", ""), ("user", "b"), ("assistant", "c"))
    )
    assert rendered.text == "<s>[INST]a\n\nb[/INST]c</s>"
    assert turns(rendered) == [(0, "a\n\n"), (2, "b[/INST]"), (3, "c</s>")]


def test_content_parts_are_joined():
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": ""}, {"type": "text", "text": "b"}]
    rendered = write("mistral-v3-tekken", said(("user", parts)))
    assert rendered.text == "<s>[INST]a\n\nb[/INST]"
    assert contents(rendered) == [(0, "content[0].text", "a"), (0, "content[2].text", "b")]


def test_prefix_message_is_not_ended():
    messages = [*said(("user", "Hi")), {"role": "assistant", "content": "Hel", "prefix": True}]
    assert write("mistral-v3-tekken", messages).text == "<s>[INST]Hi[/INST]Hel"


def test_arguments_that_are_not_json_are_quoted():
    messages = [*said(("user", "?")), {"role": "assistant", "tool_calls": [call(arguments="{")]}]
    assert '"arguments": "{"' in write("mistral-v3", messages).text


def test_answer_without_a_question_gets_an_empty_one():
    messages = said(("system", "Be brief."), ("assistant", "Hi"))
    assert write("mistral-v3", messages).text == "<s>[INST] Be brief.\n\n[/INST] Hi</s>"
    assert write("mistral-v7", messages).text == "<s>[SYSTEM_PROMPT] Be brief.[/SYSTEM_PROMPT] Hi</s>"


@pytest.mark.parametrize(
    ("format", "messages", "problem"),
    [
        ("mistral-v1", said(("user", "Hi"), ("assistant", "x"), ("tool", "2")), "does not support tools"),
        (
            "mistral-v3",
            [*SUM[:1], {"role": "assistant", "tool_calls": [call("short")]}, SUM[2]],
            "nine letters",
        ),
        ("mistral-v3", [*SUM[:2], result("2", "short")], "nine letters"),
        ("mistral-v3", [*SUM[:2], result("2", "longer1234")], "nine letters"),
        ("mistral-v3", [*SUM[:2], {"role": "tool", "content": "2"}], "tool_call_id: expected nine letters"),
        ("mistral-v3", [*SUM[:2], *said(("assistant", "Two."))], "tool calls and tool results differ"),
        (
            "mistral-v3",
            [*SUM, result("2"), *said(("assistant", "Two."))],
            "tool calls and tool results differ",
        ),
        ("mistral-v2", [*SUM, result("2")], "supports one tool result per call"),
        ("mistral-v3", said(("user", "Hi"), ("tool", "2")), "'tool' cannot follow 'user'"),
        ("mistral-v3", [result("2")], "must begin with a user or system message"),
        ("mistral-v3", said(("user", "Hi"), ("assistant", "")), "neither content nor a tool call"),
        (
            "mistral-v3",
            said(("user", "Hi"), ("assistant", [{"type": "text", "text": ""}])),
            "neither content nor a tool call",
        ),
        (
            "mistral-v3",
            [*SUM[:1], {"role": "assistant", "content": "x", "tool_calls": [call()]}],
            "either content",
        ),
        ("mistral-v3", said(("user", None)), "found null"),
        ("mistral-v3", said(("user", [{"type": "image"}])), r"content\[0\]: expected"),
        ("mistral-v3", said(("developer", "Hi")), "no role 'developer'"),
        (
            "mistral-v7",
            [*said(("user", "Hi")), {"role": "assistant", "content": "x", "reasoning": "y"}],
            "does not support reasoning",
        ),
    ],
)
def test_invalid_conversations_are_refused(format, messages, problem):
    with pytest.raises(TemplateError, match=problem):
        write(format, messages)
