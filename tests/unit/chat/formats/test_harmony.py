"""Harmony: channels, recipients, the system message that no user writes, and tools as types."""

from __future__ import annotations

import pytest
from support.rendering import contents, said, turns, write

from tokbench.chat.formats.harmony_types import type_of
from tokbench.errors import TemplateError

SYSTEM = (
    "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n"
    "Knowledge cutoff: 2024-06\n\nReasoning: medium\n\n"
    "# Valid channels: analysis, commentary, final. Channel must be included for every message."
)
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Gets the weather.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Which city"},
                "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
            },
            "required": ["city"],
        },
    },
}
CALL = {"id": "c1", "function": {"name": "get_weather", "arguments": {"city": "Rome"}}}


def test_question_and_answer_render_as_in_training():
    messages = [
        *said(("system", "Be brief."), ("user", "2+2?")),
        {"role": "assistant", "reasoning_content": "Easy.", "content": "4"},
    ]
    rendered = write("harmony", messages, auto_drop_analysis=False)
    assert rendered.text == (
        f"{SYSTEM}<|end|><|start|>developer<|message|># Instructions\n\nBe brief.<|end|>"
        "<|start|>user<|message|>2+2?<|end|>"
        "<|start|>assistant<|channel|>analysis<|message|>Easy.<|end|>"
        "<|start|>assistant<|channel|>final<|message|>4<|return|>"
    )
    assert turns(rendered) == [
        (0, "# Instructions\n\nBe brief.<|end|>"),
        (1, "2+2?<|end|>"),
        (
            2,
            "<|channel|>analysis<|message|>Easy.<|end|>"
            "<|start|>assistant<|channel|>final<|message|>4<|return|>",
        ),
    ]
    assert contents(rendered) == [
        (0, "content", "Be brief."),
        (1, "content", "2+2?"),
        (2, "reasoning_content", "Easy."),
        (2, "content", "4"),
    ]


def test_analysis_before_the_last_final_answer_is_dropped():
    answer = {"role": "assistant", "reasoning_content": "Easy.", "content": "4"}
    rendered = write("harmony", [*said(("user", "2+2?")), answer, *said(("user", "Sure?"))], prompt=True)
    assert rendered.text.endswith(
        "<|start|>user<|message|>2+2?<|end|><|start|>assistant<|channel|>final<|message|>4<|end|>"
        "<|start|>user<|message|>Sure?<|end|><|start|>assistant"
    )
    assert rendered.ends_with_prompt
    kept = write("harmony", [*said(("user", "2+2?")), answer, *said(("user", "3+3?")), answer])
    assert kept.text.count("Easy.") == 1
    assert turns(kept)[1] == (1, "<|channel|>final<|message|>4<|end|>")


def test_tool_call_and_result_render():
    messages = [
        *said(("user", "Rome?")),
        {"role": "assistant", "thinking": "Look.", "content": "I look.", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
    ]
    rendered = write("harmony", messages, tools=[TOOL], prompt=True)
    assert rendered.text == (
        f"{SYSTEM}\nCalls to these tools must go to the commentary channel: 'functions'.<|end|>"
        "<|start|>developer<|message|># Tools\n\n## functions\n\nnamespace functions {\n\n"
        "// Gets the weather.\ntype get_weather = (_: {\n// Which city\ncity: string,\n"
        'unit?: "C" | "F", // default: C\n}) => any;\n\n} // namespace functions<|end|>'
        "<|start|>user<|message|>Rome?<|end|>"
        "<|start|>assistant<|channel|>analysis<|message|>Look.<|end|>"
        "<|start|>assistant<|channel|>commentary<|message|>I look.<|end|>"
        "<|start|>assistant to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>"
        '{"city": "Rome"}<|call|>'
        "<|start|>functions.get_weather to=assistant<|channel|>commentary<|message|>sunny<|end|>"
        "<|start|>assistant"
    )
    assert [message for message, _ in turns(rendered)] == [0, 1, 2]
    assert turns(rendered)[1][1].endswith("<|call|>")
    assert turns(rendered)[2][1] == "sunny<|end|>"
    assert (1, "tool_calls[0].function.arguments.city", '"Rome"') in contents(rendered)
    assert (2, "tool_call_id", "get_weather") in contents(rendered)
    assert (None, "tools[0].function.parameters.properties.city.description", "Which city") in contents(
        rendered
    )


def test_template_variables_render():
    rendered = write(
        "harmony",
        said(("user", "Hi")),
        model_identity="You are Ada.",
        knowledge_cutoff="2025-01",
        conversation_start_date="2026-01-31",
        reasoning_effort="high",
        builtin_tools=["python"],
    )
    assert rendered.text.startswith(
        "<|start|>system<|message|>You are Ada.\nKnowledge cutoff: 2025-01\nCurrent date: 2026-01-31\n\n"
        "Reasoning: high\n\n# Tools\n\n## python\n\nUse this tool to execute Python code"
    )
    assert contents(rendered)[0] == (None, "model_identity", "You are Ada.")


def test_builtin_tools_are_called_in_the_analysis_channel():
    call = {"function": {"name": "python", "arguments": "print(1)"}}
    messages = [
        *said(("user", "Hi")),
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "content": "1"},
    ]
    rendered = write("harmony", messages, builtin_tools=["python"])
    assert rendered.text.endswith(
        "<|start|>assistant to=python<|channel|>analysis code<|message|>print(1)<|call|>"
        "<|start|>python to=assistant<|channel|>analysis<|message|>1<|end|>"
    )


def test_message_may_name_its_channel_and_recipient():
    message = {
        "role": "assistant",
        "content": "{}",
        "channel": "commentary",
        "recipient": "functions.f",
        "content_type": "<|constrain|>json",
    }
    rendered = write("harmony", [*said(("user", "Hi")), message])
    assert turns(rendered)[1][1] == (
        " to=functions.f<|channel|>commentary <|constrain|>json<|message|>{}<|call|>"
    )
    assert (1, "recipient", "functions.f") in contents(rendered)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "array", "items": {"type": "integer"}}, "number[]"),
        ({"type": "array"}, "Array<any>"),
        ({"type": ["integer", "null"]}, "number | null"),
        ({"oneOf": [{"type": "string", "default": "x"}, {"type": "number", "nullable": True}]},
         '\n | string // default: "x"\n | number | null'),
        ({"type": "object", "properties": {"a": {"type": "string", "nullable": True, "title": "A"}}},
         "{\n// A\n//\na?: string | null,\n}"),
        ({"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}], "description": "d", "default": 1}}},
         "{\n// d\n// default: 1\na?:\n | string\n,\n}"),
        ({"type": "object", "properties": {"a": {"type": "string", "examples": ["x", 1]}}, "required": ["a"]},
         '{\n// Examples:\n// - "x"\na: string,\n}'),
        ({"type": "map"}, "any"),
        (True, "any"),
    ],
)  # fmt: skip
def test_json_schema_types_render(schema, text):
    assert "".join(part.text for part in type_of(schema, None, "")) == text


@pytest.mark.parametrize(
    ("messages", "variables", "problem"),
    [
        (said(("user", "Hi"), ("tool", "2")), {}, "a tool result without a tool call"),
        (
            [{"role": "tool", "tool_call_id": [], "content": "2"}],
            {},
            "tool_call_id: expected a string, found a list",
        ),
        (said(("user", None)), {}, "found null"),
        (said(("ipython", "2")), {}, "no role 'ipython'"),
        (said(("user", [{"type": "image"}])), {}, r"content\[0\]: expected"),
        (said(("user", "Hi"), ("assistant", None)), {}, "neither reasoning, content nor"),
        (said(("user", "Hi")), {"reasoning_effort": "most"}, "expected low, medium or high, found 'most'"),
        (said(("user", "Hi")), {"builtin_tools": ["shell"]}, "expected browser or python, found 'shell'"),
        (said(("user", "Hi")), {"model_identity": 7}, "model_identity: expected a string, found a number"),
    ],
)
def test_invalid_conversations_are_refused(messages, variables, problem):
    with pytest.raises(TemplateError, match=problem):
        write("harmony", messages, **variables)


def test_tool_without_a_name_is_refused():
    with pytest.raises(TemplateError, match=r"tools\[0\].function: expected an object with a name"):
        write("harmony", said(("user", "Hi")), tools=[{"type": "function"}])
