"""openai-harmony gives the ids of tokbench's rendering, and the same types for a tool's schema.

It needs o200k_base.tiktoken in the folder that TIKTOKEN_ENCODINGS_BASE names; without that these tests are skipped.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations import conversations, hostile_texts, json_values, plain_texts
from support.rendering import pieces, write
from support.texts import texts

from tokbench.chat.conversation import Conversation
from tokbench.chat.formats import named

if TYPE_CHECKING:
    from tokbench.chat.rendered import Rendered

harmony = pytest.importorskip("openai_harmony")

VOCABULARY = Path(os.environ.get("TIKTOKEN_ENCODINGS_BASE", "")) / "o200k_base.tiktoken"
if not VOCABULARY.is_file():
    pytest.skip("TIKTOKEN_ENCODINGS_BASE names no folder with o200k_base.tiktoken", allow_module_level=True)

HARMONY = named("harmony")
TOKENS = HARMONY.control_tokens + HARMONY.optional_tokens

contents = plain_texts | texts | hostile_texts
descriptions = plain_texts | st.sampled_from(
    ["two\nlines", "ends\n", "windows\r\nline\r", "", "null", "\n\n", "é"]
)


@cache
def encoding() -> Any:
    return harmony.load_harmony_encoding(harmony.HarmonyEncodingName.HARMONY_GPT_OSS)


def our_ids(rendered: Rendered) -> list[int]:
    """Encode each piece separately."""
    ids: list[int] = []
    for text, is_control, _ in pieces(rendered, TOKENS):
        allowed = {text} if is_control else set()
        ids += encoding().encode(text, allowed_special=allowed, disallowed_special=())
    return ids


def their_ids(messages: list[Any], *, prompt: bool, keep: bool = False) -> list[int]:
    conversation = harmony.Conversation.from_messages(messages)
    config = harmony.RenderConversationConfig(auto_drop_analysis=not keep)
    if prompt:
        return encoding().render_conversation_for_completion(conversation, harmony.Role.ASSISTANT, config)
    return encoding().render_conversation_for_training(conversation, config)


def system_message(variables: dict[str, Any]) -> Any:
    content = harmony.SystemContent.new()
    if "reasoning_effort" in variables:
        content = content.with_reasoning_effort(
            harmony.ReasoningEffort(variables["reasoning_effort"].capitalize())
        )
    if "model_identity" in variables:
        content = content.with_model_identity(variables["model_identity"])
    if "knowledge_cutoff" in variables:
        content = content.with_knowledge_cutoff(variables["knowledge_cutoff"])
    if "conversation_start_date" in variables:
        content = content.with_conversation_start_date(variables["conversation_start_date"])
    for tool in variables.get("builtin_tools", ()):
        content = content.with_browser_tool() if tool == "browser" else content.with_python_tool()
    return harmony.Message.from_role_and_content(harmony.Role.SYSTEM, content)


def developer_message(instructions: str | None, tools: Any) -> Any:
    content = harmony.DeveloperContent.new()
    if instructions is not None:
        content = content.with_instructions(instructions)
    if tools:
        functions = [tool["function"] for tool in tools]
        content = content.with_function_tools(
            [
                harmony.ToolDescription.new(
                    function["name"], function["description"], parameters=function.get("parameters")
                )
                for function in functions
            ]
        )
    return harmony.Message.from_role_and_content(harmony.Role.DEVELOPER, content)


def their_messages(conversation: Conversation) -> list[Any]:
    """Build the conversation with the types of openai-harmony."""
    messages = [system_message(dict(conversation.variables))]
    said = list(conversation.messages)
    if said[0]["role"] == "system":
        messages.append(developer_message(said.pop(0)["content"], conversation.tools))
    elif conversation.tools:
        messages.append(developer_message(None, conversation.tools))

    def add(author: Any, text: str, **header: str) -> None:
        message = harmony.Message.from_author_and_content(author, text)
        for field, value in header.items():
            setattr(message, field, value)
        messages.append(message)

    for message in said:
        if message["role"] == "user":
            add(harmony.Author(role="user"), message["content"])
        elif message["role"] == "tool":
            author = harmony.Author.new(harmony.Role.TOOL, f"functions.{message['name']}")
            add(author, message["content"], channel="commentary", recipient="assistant")
        else:
            assistant = harmony.Author(role="assistant")
            calls = message.get("tool_calls", [])
            if "reasoning_content" in message:
                add(assistant, message["reasoning_content"], channel="analysis")
            if message["content"] or not calls:
                add(assistant, message["content"], channel="commentary" if calls else "final")
            for call in calls:
                arguments = call["function"]["arguments"]
                if not isinstance(arguments, str):
                    arguments = json.dumps(arguments, ensure_ascii=False)
                add(
                    assistant,
                    arguments,
                    channel="commentary",
                    recipient=f"functions.{call['function']['name']}",
                    content_type="<|constrain|>json",
                )
    return messages


variables = st.fixed_dictionaries(
    {},
    optional={
        "reasoning_effort": st.sampled_from(["low", "medium", "high"]),
        "model_identity": contents,
        "knowledge_cutoff": st.just("2025-01"),
        "conversation_start_date": st.just("2026-01-31"),
        "builtin_tools": st.lists(st.sampled_from(["browser", "python"]), unique=True),
    },
)


@given(
    conversations(contents, tools=True, reasoning=True, arguments="either"),
    variables,
    st.booleans(),
    st.booleans(),
)
def test_ids_equal_openai_harmonys(conversation, variables, prompt, keep):
    ours = write(
        "harmony",
        list(conversation.messages),
        tools=conversation.tools,
        prompt=prompt,
        **variables,
        auto_drop_analysis=not keep,
    )
    messages = their_messages(Conversation(conversation.messages, conversation.tools, (), variables))
    theirs = their_ids(messages, prompt=prompt, keep=keep)
    assert our_ids(ours) == theirs


schemas = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(
                ["string", "number", "integer", "boolean", "null", "any", ["string", "integer"], ["null"], []]
            ),
            "description": descriptions,
            "title": descriptions,
            "enum": st.lists(descriptions | st.integers(0, 3), max_size=2),
            "default": json_values(plain_texts).filter(lambda value: value is not None),
            "nullable": st.booleans(),
            "examples": st.lists(descriptions | st.integers(0, 3), max_size=2),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array", "string"]),
            "properties": st.dictionaries(plain_texts, inner, max_size=3),
            "required": st.lists(plain_texts, max_size=2),
            "items": inner,
            "oneOf": st.lists(inner, max_size=3),
            "description": descriptions,
            "default": json_values(plain_texts).filter(lambda value: value is not None),
            "nullable": st.booleans(),
        },
    ),
    max_leaves=6,
)


@given(schemas, descriptions)
def test_tool_types_equal_openai_harmonys(schema, description):
    tool = {"type": "function", "function": {"name": "f", "description": description, "parameters": schema}}
    ours = write("harmony", [{"role": "user", "content": "Hi"}], tools=[tool], prompt=True)
    conversation = Conversation(({"role": "user", "content": "Hi"},), (tool,))
    theirs = encoding().decode(their_ids(their_messages(conversation), prompt=True))
    assert ours.text == theirs
