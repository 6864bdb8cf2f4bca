"""Llama 3 and its successors: headers, trimmed texts, and tools in the first user message."""

from __future__ import annotations

import pytest
from support.rendering import contents, said, turns, write

from tokbench.errors import TemplateError

TOOL = {"type": "function", "function": {"name": "add", "parameters": {}}}
CALL = {"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}
SYSTEM = (
    "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
    "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"
)


def test_contents_are_trimmed_and_turns_end_with_their_token():
    rendered = write("llama3", said(("user", " Hi\n"), ("assistant", "Hello")), prompt=True)
    assert rendered.text == (
        "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\nHello<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    )
    assert contents(rendered) == [(0, "content", "Hi"), (1, "content", "Hello")]
    assert turns(rendered) == [(0, "Hi<|eot_id|>"), (1, "Hello<|eot_id|>")]
    assert rendered.ends_with_prompt


def test_system_message_always_has_the_date():
    rendered = write("llama3.1", said(("user", "Hi")))
    assert rendered.text == (SYSTEM + "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>")
    assert turns(rendered) == [(0, "Hi<|eot_id|>")]
    given = write("llama3.1", said(("system", "Be brief.")), date_string="1 Jan 2026")
    assert given.text == SYSTEM.replace("26 Jul 2024", "1 Jan 2026") + "Be brief.<|eot_id|>"
    assert contents(given) == [(None, "date_string", "1 Jan 2026"), (0, "content", "Be brief.")]
    assert [message for message, _ in turns(given)] == [0]


def test_tools_begin_the_first_user_message():
    rendered = write("llama3.1", said(("user", "1+1?")), tools=[TOOL])
    assert "system<|end_header_id|>\n\nEnvironment: ipython\nCutting" in rendered.text
    (said_turn,) = turns(rendered)
    assert said_turn[1].startswith(
        "Given the following functions, please respond with a JSON for a function call with"
    )
    assert said_turn[1].endswith(
        'Do not use variables.\n\n{\n    "type": "function",\n    "function": {\n        "name": "add",\n'
        '        "parameters": {}\n    }\n}\n\n1+1?<|eot_id|>'
    )
    assert (None, "tools[0].function.name", '"add"') in contents(rendered)


def test_tools_may_be_in_the_system_message():
    rendered = write("llama3.1", said(("user", "1+1?")), tools=[TOOL], tools_in_user_message=False)
    assert (
        "You have access to the following functions. To call a function, please respond with JSON"
        in rendered.text
    )
    assert rendered.text.endswith("user<|end_header_id|>\n\n1+1?<|eot_id|>")


def test_tool_call_and_result_render():
    messages = [
        *said(("user", "1+1?")),
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        *said(("tool", '"2"')),
    ]
    rendered = write("llama3.1", messages)
    assert turns(rendered)[1:] == [
        (1, '{"name": "add", "parameters": {"a": 1}}<|eot_id|>'),
        (2, '"\\"2\\""<|eot_id|>'),
    ]
    assert "<|start_header_id|>ipython<|end_header_id|>\n\n" in rendered.text
    assert contents(rendered)[1:] == [
        (1, "tool_calls[0].function.name", "add"),
        (1, "tool_calls[0].function.arguments", "{"),
        (1, "tool_calls[0].function.arguments.a", '"a"'),
        (1, "tool_calls[0].function.arguments", ": "),
        (1, "tool_calls[0].function.arguments.a", "1"),
        (1, "tool_calls[0].function.arguments", "}"),
        (2, "content", '"\\"2\\""'),
    ]


def test_builtin_tools_render_as_python_calls():
    call = {"function": {"name": "search", "arguments": {"query": "x", "place": "y"}}}
    messages = [*said(("user", "x?")), {"role": "assistant", "tool_calls": [call]}]
    rendered = write("llama3.1", messages, builtin_tools=["search", "code_interpreter", "maths"])
    assert "Environment: ipython\nTools: search, maths\n\nCutting" in rendered.text
    assert turns(rendered)[1][1] == '<|python_tag|>search.call(query="x", place="y")<|eom_id|>'


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ({"role": "assistant", "tool_calls": [CALL, CALL]}, "calls one function per message, found 2"),
        ({"role": "assistant", "content": "Hi", "tool_calls": []}, "calls one function per message, found 0"),
        ({"role": "tool", "content": None}, "found null"),
        ({"role": "user", "tool_calls": [CALL]}, "calls no functions"),
    ],
)
def test_invalid_messages_are_refused(message, problem):
    with pytest.raises(TemplateError, match=problem):
        write("llama3.1", [*said(("user", "Hi")), message])


def test_tools_without_a_user_message_are_refused():
    with pytest.raises(TemplateError, match=r"messages\[1\]: tools are written into the first user message"):
        write("llama3.1", said(("system", "Be brief.")), tools=[TOOL])


def test_llama_3_2_has_no_builtin_tools():
    with pytest.raises(TemplateError, match="builtin_tools"):
        write("llama3.2", said(("user", "Hi")), builtin_tools=[])
