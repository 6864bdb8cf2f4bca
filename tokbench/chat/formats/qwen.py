"""Qwen 2, 2.5 and 3: ChatML with a default system prompt, tools and thinking.

Source: Alibaba, the `chat_template` of Qwen/Qwen2-1.5B-Instruct (2024-06), of Qwen/Qwen2.5-7B-Instruct (2024-09), of
Qwen/Qwen3-8B (of 2025-07, which accepts missing content) and of Qwen/Qwen3-4B-Instruct-2507.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.chat.formats.chatml import END, START, write, write_message
from tokbench.chat.formats.fields import calls_of, optional_text, reasoning_of, role_of, text_of, variable
from tokbench.chat.formats.format import Format, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.chat.conversation import Conversation
    from tokbench.chat.formats.fields import Call
    from tokbench.chat.formats.format import Writer

THINK, THINK_END = "<think>", "</think>"

_ROLES = ("system", "user", "assistant", "tool")
_PROMPT_2 = "You are a helpful assistant."
_PROMPT_25 = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
_TOOLS = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
_CALLING = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
    "<tool_call></tool_call> XML tags:\n<tool_call>\n"
    '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
)


def _write_2(conversation: Conversation, writer: Writer) -> None:
    if role_of(conversation.messages[0], 0) != "system":
        writer.template(f"{START}system\n{_PROMPT_2}{END}\n")
    write(conversation, writer)


def _write_25(conversation: Conversation, writer: Writer) -> None:
    messages = conversation.messages
    first = _write_system(conversation, writer, default=_PROMPT_25, blank_before_tools=True)
    for index in range(first, len(messages)):
        message = messages[index]
        role = role_of(message, index, _ROLES)
        if role == "tool":
            _write_result(writer, messages, index, text_of(message, index))
        elif role == "assistant" and message.get("tool_calls"):
            _write_calls_25(writer, message, index)
        else:
            write_message(writer, message, index)
    writer.end_ready(f"{START}assistant\n")


def _write_system(
    conversation: Conversation, writer: Writer, *, default: str, blank_before_tools: bool
) -> int:
    """Write the system message with the tools, and return the index of the next message."""
    message = conversation.messages[0]
    given = role_of(message, 0) == "system"
    if not conversation.tools and not given and not default:
        return 0
    index = 0 if given else None
    writer.template(f"{START}system\n", index)
    writer.begin_turn(0)
    if given:
        writer.content(text_of(message, 0), 0, "content")
    else:
        writer.template(default)
    if conversation.tools:
        if given or blank_before_tools:
            writer.template("\n\n", index)
        writer.template(_TOOLS, index)
        for place, tool in enumerate(conversation.tools):
            writer.template("\n", index)
            write_json(writer, tool, None, f"tools[{place}]")
        writer.template(_CALLING, index)
    if given:
        writer.end_turn(END, "\n")
    else:
        writer.template(f"{END}\n")
    return 1 if given else 0


def _write_result(writer: Writer, messages: Sequence[Mapping[str, Any]], index: int, text: str) -> None:
    """Write the result of a tool; consecutive results share a user turn."""
    begins = index == 0 or role_of(messages[index - 1], index - 1) != "tool"
    ends = index + 1 == len(messages) or role_of(messages[index + 1], index + 1) != "tool"
    writer.begin_turn(index, f"{START}user\n" if begins else "\n")
    writer.template("<tool_response>\n", index)
    writer.content(text, index, "content")
    if ends:
        writer.end_turn(f"\n</tool_response>{END}", "\n")
    else:
        writer.end_turn("\n</tool_response>")


def _write_calls_25(writer: Writer, message: Mapping[str, Any], index: int) -> None:
    writer.begin_turn(index, f"{START}assistant\n")
    content = message.get("content")
    separator = ""
    if content:
        writer.content(text_of(message, index), index, "content")
        separator = "\n"
    for call in calls_of(message, index):
        writer.template(separator, index)
        _write_call(writer, call, index)
        separator = "\n"
    writer.end_turn(END, "\n")


def _write_call(writer: Writer, call: Call, index: int, *, text_as_json: bool = False) -> None:
    """Write a call; arguments given as a text are written as a JSON string, or verbatim with `text_as_json`."""
    writer.template('<tool_call>\n{"name": "', index)
    writer.content(call.name, index, f"{call.path}.name")
    writer.template('", "arguments": ', index)
    if text_as_json and isinstance(call.arguments, str):
        writer.content(call.arguments, index, f"{call.path}.arguments")
    else:
        write_json(writer, call.arguments, index, f"{call.path}.arguments")
    writer.template("}\n</tool_call>", index)


class _Thought(NamedTuple):
    """The reasoning and the content of an assistant message, with the field of the reasoning."""

    reasoning: str
    field: str
    content: str


def _split_reasoning(message: Mapping[str, Any], index: int) -> _Thought:
    """Return the reasoning of a message, from its own field or from between the tags in its content."""
    content = optional_text(message, index)
    given = reasoning_of(message, index)
    if given is not None:
        return _Thought(given.text, given.field, content)
    if THINK_END not in content:
        return _Thought("", "content", content)
    before, after = content.split(THINK_END)[0], content.split(THINK_END)[-1]
    return _Thought(before.rstrip("\n").split(THINK)[-1].lstrip("\n"), "content", after.lstrip("\n"))


def _last_query(messages: Sequence[Mapping[str, Any]]) -> int:
    """Return the index of the last user message that is a question, not a tool result."""
    for index in range(len(messages) - 1, -1, -1):
        content = messages[index].get("content") if role_of(messages[index], index) == "user" else None
        if isinstance(content, str) and not (
            content.startswith("<tool_response>") and content.endswith("</tool_response>")
        ):
            return index
    return len(messages) - 1


def _write_3(conversation: Conversation, writer: Writer) -> None:
    _write_without_default(conversation, writer, thinks_after=_last_query(conversation.messages))
    if writer.prompt:
        thinks = variable(conversation, "enable_thinking", bool, default=True)
        writer.end_ready(f"{START}assistant\n" + ("" if thinks else f"{THINK}\n\n{THINK_END}\n\n"))


def _write_3_instruct(conversation: Conversation, writer: Writer) -> None:
    _write_without_default(conversation, writer, thinks_after=None)
    writer.end_ready(f"{START}assistant\n")


def _write_without_default(conversation: Conversation, writer: Writer, *, thinks_after: int | None) -> None:
    """Write all messages; thinking is kept after message `thinks_after`, and not parsed at all if that is None."""
    messages = conversation.messages
    first = _write_system(conversation, writer, default="", blank_before_tools=False)
    for index in range(first, len(messages)):
        message = messages[index]
        role = role_of(message, index, _ROLES)
        if role == "tool":
            _write_result(writer, messages, index, optional_text(message, index))
        elif role == "assistant" and thinks_after is not None:
            last = index == len(messages) - 1
            _write_thought(writer, message, index, _thinking_mode(thinks_after, index, last=last))
        elif role == "assistant":
            _write_answer(writer, message, index, optional_text(message, index))
        else:
            writer.begin_role(index, START, role, "\n")
            writer.content(optional_text(message, index), index, "content")
            writer.end_turn(END, "\n")


def _thinking_mode(thinks_after: int, index: int, *, last: bool) -> str:
    """Decide whether thinking is written: `always`, `if any`, or `never`."""
    if index <= thinks_after:
        return "never"
    return "always" if last else "if any"


def _write_thought(writer: Writer, message: Mapping[str, Any], index: int, kept: str) -> None:
    reasoning, field, content = _split_reasoning(message, index)
    if kept == "never" or (kept == "if any" and not reasoning):
        _write_answer(writer, message, index, content)
        return
    writer.begin_turn(index, f"{START}assistant\n")
    writer.template(f"{THINK}\n", index)
    writer.content(reasoning.strip("\n"), index, field)
    writer.template(f"\n{THINK_END}\n\n", index)
    writer.content(content.lstrip("\n"), index, "content")
    _write_calls_3(writer, message, index, "\n" if content else "")


def _write_answer(writer: Writer, message: Mapping[str, Any], index: int, content: str) -> None:
    writer.begin_turn(index, f"{START}assistant\n")
    writer.content(content, index, "content")
    _write_calls_3(writer, message, index, "\n" if content else "")


def _write_calls_3(writer: Writer, message: Mapping[str, Any], index: int, separator: str) -> None:
    for call in calls_of(message, index):
        writer.template(separator, index)
        _write_call(writer, call, index, text_as_json=True)
        separator = "\n"
    writer.end_turn(END, "\n")


_TOOL_TAGS = ("<tool_call>", "</tool_call>")
_RESPONSE_TAGS = ("<tool_response>", "</tool_response>")

QWEN = (
    Format(
        name="qwen3",
        description="Qwen 3: ChatML with tools and thinking, which is removed from earlier turns",
        source="Alibaba, Qwen3-8B (2025-07)",
        write=_write_3,
        control_tokens=(START, END),
        turn_end=(END,),
        plain_tags=(THINK, THINK_END, *_TOOL_TAGS, *_RESPONSE_TAGS),
        variables={"enable_thinking": "false: the answer begins after an empty thinking block"},
    ),
    Format(
        name="qwen3-instruct",
        description="Qwen 3 of 2507 without thinking: ChatML with tools",
        source="Alibaba, Qwen3-4B-Instruct-2507 (2025-08)",
        write=_write_3_instruct,
        control_tokens=(START, END),
        turn_end=(END,),
        plain_tags=(*_TOOL_TAGS, *_RESPONSE_TAGS),
    ),
    Format(
        name="qwen2.5",
        description="Qwen 2.5: ChatML with a default system prompt and tools",
        source="Alibaba, Qwen2.5-7B-Instruct (2024-09)",
        write=_write_25,
        control_tokens=(START, END),
        turn_end=(END,),
        plain_tags=_TOOL_TAGS,
    ),
    Format(
        name="qwen2",
        description="Qwen 2: ChatML with a default system prompt",
        source="Alibaba, Qwen2-1.5B-Instruct (2024-06)",
        write=_write_2,
        control_tokens=(START, END),
        turn_end=(END,),
        has_tools=False,
    ),
)
