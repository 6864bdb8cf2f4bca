"""Conversations of all common shapes, with words in them that can be found in the output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.chat.conversation import Conversation

if TYPE_CHECKING:
    from collections.abc import Mapping

SYSTEM, ASKED, ANSWERED = "Sysword be brief.", "Askword one?", "Answord one."
ASKED_AGAIN, ANSWERED_AGAIN = "Askword two?", "Answord two."
ARGUMENT, RESULT = "Argword", "Resword"

TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def _said(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def _call(arguments: Any, *, content: Any = "") -> dict[str, Any]:
    function = {"name": "get_weather", "arguments": arguments}
    return {
        **_said("assistant", content),
        "tool_calls": [{"id": "abcdef123", "type": "function", "function": function}],
    }


_USER, _ASSISTANT = _said("user", ASKED), _said("assistant", ANSWERED)
_RESULT = {**_said("tool", RESULT), "name": "get_weather", "tool_call_id": "abcdef123"}


def _talk(*messages: dict[str, Any], tools: bool = False) -> Conversation:
    return Conversation(messages, tools=(TOOL,) if tools else ())


TURNS = _talk(_USER, _ASSISTANT, _said("user", ASKED_AGAIN), _said("assistant", ANSWERED_AGAIN))
"""Two exchanges, to test the rendering of history."""

SHAPES: Mapping[str, Conversation] = {
    "one exchange": _talk(_USER, _ASSISTANT),
    "two exchanges": TURNS,
    "a system message": _talk(_said("system", SYSTEM), _USER, _ASSISTANT),
    "content as a list of parts": _talk(_said("user", [{"type": "text", "text": ASKED}]), _ASSISTANT),
    "a call of a tool": _talk(_USER, _call({"city": ARGUMENT}), _RESULT, _ASSISTANT, tools=True),
    "a call with content null": _talk(
        _USER, _call({"city": ARGUMENT}, content=None), _RESULT, _ASSISTANT, tools=True
    ),
    "arguments as a JSON string": _talk(
        _USER, _call(f'{{"city": "{ARGUMENT}"}}'), _RESULT, _ASSISTANT, tools=True
    ),
    "a tool's result without its call": _talk(_USER, _RESULT, _ASSISTANT, tools=True),
    "an empty answer": _talk(_USER, _said("assistant", "")),
}
"""Name of a shape → a conversation of that shape."""
