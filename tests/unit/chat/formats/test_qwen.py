"""Qwen: default system prompts, tools, tool results in a user turn, and reasoning dropped from earlier turns."""

from __future__ import annotations

import pytest
from support.rendering import contents, said, turns, write

from tokbench.errors import TemplateError

TOOL = {"type": "function", "function": {"name": "add", "parameters": {}}}
CALL = {"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}
TOOLS = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
    '{"type": "function", "function": {"name": "add", "parameters": {}}}\n</tools>\n\n'
    "For each function call, return a json object with function name and arguments within "
    "<tool_call></tool_call> XML tags:\n<tool_call>\n"
    '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call><|im_end|>\n'
)
WITH_CALLS = [
    *said(("user", "1+1?")),
    {"role": "assistant", "content": "So:", "tool_calls": [CALL, CALL]},
    *said(("tool", "2"), ("tool", "two")),
]


@pytest.mark.parametrize(
    ("format", "system"),
    [
        ("qwen2", "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"),
        (
            "qwen2.5",
            "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n",
        ),
        ("qwen3", ""),
    ],
)
def test_default_system_prompt_is_added(format, system):
    rendered = write(format, said(("user", "Hi")), prompt=True)
    assert rendered.text == f"{system}<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    assert turns(rendered) == [(0, "Hi<|im_end|>")]
    given = write(format, said(("system", "Be brief."), ("user", "Hi")))
    assert given.text.startswith("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user")


def test_tools_follow_the_system_prompt():
    rendered = write("qwen2.5", said(("user", "Hi")), tools=[TOOL])
    assert rendered.text.startswith(
        "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.\n\n" + TOOLS
    )
    assert write("qwen3", said(("user", "Hi")), tools=[TOOL]).text.startswith("<|im_start|>system\n" + TOOLS)
    rendered = write("qwen3", said(("system", "Be brief."), ("user", "Hi")), tools=[TOOL])
    assert rendered.text.startswith("<|im_start|>system\nBe brief.\n\n" + TOOLS)
    assert turns(rendered)[0] == (0, "Be brief.\n\n" + TOOLS.removesuffix("\n"))


@pytest.mark.parametrize("format", ["qwen2.5", "qwen3-instruct"])
def test_tool_calls_and_results_render(format):
    rendered = write(format, WITH_CALLS)
    call = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
    assert rendered.text.endswith(
        f"<|im_start|>assistant\nSo:\n{call}\n{call}<|im_end|>\n"
        "<|im_start|>user\n<tool_response>\n2\n</tool_response>\n<tool_response>\ntwo\n</tool_response><|im_end|>\n"
    )
    assert turns(rendered) == [
        (0, "1+1?<|im_end|>"),
        (1, f"So:\n{call}\n{call}<|im_end|>"),
        (2, "<tool_response>\n2\n</tool_response>"),
        (3, "<tool_response>\ntwo\n</tool_response><|im_end|>"),
    ]


def test_arguments_as_a_string_are_quoted_or_inserted_by_version():
    call = {"function": {"name": "add", "arguments": '{"a": 1}'}}
    messages = [*said(("user", "1+1?")), {"role": "assistant", "content": "", "tool_calls": [call]}]
    assert '"arguments": "{\\"a\\": 1}"}' in write("qwen2.5", messages).text
    assert '"arguments": {"a": 1}}' in write("qwen3", messages).text


def test_reasoning_is_kept_after_the_last_question_only():
    answer = {"role": "assistant", "content": "Two.", "reasoning_content": "\nEasy.\n"}
    kept = write("qwen3", [*said(("user", "1+1?")), answer])
    assert turns(kept)[1] == (1, "<think>\nEasy.\n</think>\n\nTwo.<|im_end|>")
    assert contents(kept)[1:] == [(1, "reasoning_content", "Easy."), (1, "content", "Two.")]
    lost = write("qwen3", [*said(("user", "1+1?")), answer, *said(("user", "Sure?"))])
    assert turns(lost)[1] == (1, "Two.<|im_end|>")


def test_reasoning_inside_the_content_is_recognized():
    rendered = write("qwen3", said(("user", "1+1?"), ("assistant", "<think>\nEasy.\n</think>\n\nTwo.")))
    assert turns(rendered)[1] == (1, "<think>\nEasy.\n</think>\n\nTwo.<|im_end|>")
    assert contents(rendered)[1:] == [(1, "content", "Easy."), (1, "content", "Two.")]


def test_last_answer_begins_with_a_think_block_even_if_empty():
    rendered = write("qwen3", said(("user", "1+1?"), ("assistant", "Two.")))
    assert turns(rendered)[1] == (1, "<think>\n\n</think>\n\nTwo.<|im_end|>")


def test_tool_response_of_the_user_is_not_a_question():
    answer = {"role": "assistant", "content": "So:", "reasoning_content": "Call."}
    handed = said(("user", "<tool_response>2</tool_response>"))
    rendered = write("qwen3", [*said(("user", "1+1?")), answer, *handed])
    assert turns(rendered)[1] == (1, "<think>\nCall.\n</think>\n\nSo:<|im_end|>")


def test_answer_without_a_question_has_no_think_block():
    assert turns(write("qwen3", said(("assistant", "Hi")))) == [(0, "Hi<|im_end|>")]


def test_thinking_can_be_disabled():
    rendered = write("qwen3", said(("user", "Hi")), prompt=True, enable_thinking=False)
    assert rendered.text.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")
    with pytest.raises(TemplateError, match="enable_thinking: expected true or false, found a string"):
        write("qwen3", said(("user", "Hi")), prompt=True, enable_thinking="no")


@pytest.mark.parametrize(
    ("format", "message", "problem"),
    [
        ("qwen2.5", {"role": "developer", "content": "Hi"}, "has no role 'developer'"),
        ("qwen2.5", {"role": "assistant", "content": None}, "found none"),
        ("qwen3", {"role": "user", "content": [{"type": "text", "text": "Hi"}]}, "not a list of parts"),
        ("qwen3", {"role": "assistant", "tool_calls": "add"}, "tool_calls: expected a list, found a string"),
        (
            "qwen3",
            {"role": "assistant", "tool_calls": [{"function": None}]},
            "expected an object, found null",
        ),
        ("qwen3", {"role": "assistant", "reasoning_content": 7}, "reasoning_content: expected a string"),
    ],
)
def test_invalid_messages_are_refused(format, message, problem):
    with pytest.raises(TemplateError, match=problem):
        write(format, [*said(("user", "Hi")), message])
