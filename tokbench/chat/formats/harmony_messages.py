"""Convert a conversation to harmony messages: one per channel and per call.

A message of a conversation becomes several: its reasoning goes to the channel analysis, its content to final, or to
commentary if it announces calls, and each call to its tool. A message may set its `channel`, `recipient` and
`content_type` itself, as harmony's own messages do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.chat.formats.fields import calls_of, checked, reasoning_of, refuse, role_of
from tokbench.chat.formats.harmony_types import Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.chat.conversation import Conversation
    from tokbench.chat.formats.fields import Call

ROLES = ("system", "developer", "user", "assistant", "tool")
CHANNELS = ("analysis", "commentary", "final")
CONSTRAIN = "<|constrain|>"


class Said(NamedTuple):
    """A harmony message.

    Attributes:
        message: index of the conversation's message that it is part of.
        role: its role.
        texts: its texts, to be concatenated.
        arguments: the call whose arguments are an object; None if the texts are everything.
        name: name of the user, assistant or tool.
        recipient: the recipient, such as `functions.add`; empty for all.
        channel: empty if it has none.
        content_type: content type, including `<|constrain|>`; empty if it has none.
    """

    message: int
    role: str
    texts: tuple[Part, ...]
    arguments: Call | None = None
    name: tuple[Part, ...] = ()
    recipient: tuple[Part, ...] = ()
    channel: Part = Part("")
    content_type: Part = Part("")


def said_in(conversation: Conversation, builtin_tools: Sequence[str]) -> list[Said]:
    """Return the harmony messages of a conversation.

    Args:
        conversation: the conversation.
        builtin_tools: names of the built-in tools that it may call.

    Raises:
        TemplateError: a message has an unknown role or an invalid form, or a tool result lacks a tool call.
    """
    said: list[Said] = []
    called: dict[str | None, str] = {}
    for index, message in enumerate(conversation.messages):
        match role_of(message, index, ROLES):
            case "assistant":
                calls = calls_of(message, index)
                called |= {call.id: call.name for call in calls} | {None: calls[-1].name if calls else ""}
                said += _assistant(message, index, calls, builtin_tools)
            case "tool":
                said.append(_result(message, index, called, builtin_tools))
            case role:
                said.append(
                    Said(
                        index,
                        role,
                        _texts(message, index),
                        name=_named(message, index),
                        recipient=_field(message, index, "recipient"),
                        channel=_channel(message, index, ""),
                        content_type=_content_type(message, index),
                    )
                )
    return said


def without_old_analysis(said: Sequence[Said]) -> list[Said]:
    """Drop the analysis before the first final answer, if the last assistant message is a final answer."""
    finals = [place for place, message in enumerate(said) if message.channel.text == "final"]
    answers = [message.channel.text for message in said if message.role == "assistant"]
    if not finals or not answers or answers[-1] != "final":
        return list(said)
    return [
        message
        for place, message in enumerate(said)
        if place > finals[0] or message.channel.text != "analysis"
    ]


def _assistant(
    message: Mapping[str, Any], index: int, calls: Sequence[Call], builtin_tools: Sequence[str]
) -> list[Said]:
    said: list[Said] = []
    name = _named(message, index)
    reasoning = reasoning_of(message, index)
    if reasoning is not None:
        thought = (Part(reasoning.text, reasoning.field),)
        said.append(Said(index, "assistant", thought, name=name, channel=Part("analysis")))
    content = message.get("content")
    if content is not None and not (content == "" and calls):
        said.append(
            Said(
                index,
                "assistant",
                _texts(message, index),
                name=name,
                recipient=_field(message, index, "recipient"),
                channel=_channel(message, index, "commentary" if calls else "final"),
                content_type=_content_type(message, index),
            )
        )
    said += [_call(call, index, name, builtin_tools) for call in calls]
    if not said:
        raise refuse(
            f"messages[{index}]", "the assistant message has neither reasoning, content nor a tool call"
        )
    return said


def _call(call: Call, index: int, name: tuple[Part, ...], builtin_tools: Sequence[str]) -> Said:
    is_builtin = call.name.split(".")[0] in builtin_tools
    function = Part(call.name, f"{call.path}.name")
    is_text = isinstance(call.arguments, str)
    return Said(
        index,
        "assistant",
        (Part(call.arguments, f"{call.path}.arguments"),) if is_text else (),
        arguments=None if is_text else call,
        name=name,
        recipient=(function,) if is_builtin else (Part("functions."), function),
        channel=Part("analysis" if is_builtin else "commentary"),
        content_type=Part("code" if is_builtin else f"{CONSTRAIN}json"),
    )


def _result(
    message: Mapping[str, Any], index: int, called: Mapping[str | None, str], builtin_tools: Sequence[str]
) -> Said:
    id = checked(message.get("tool_call_id"), str | None, "a string", f"messages[{index}].tool_call_id")
    name, field = message.get("name"), "name"
    if name is None and called.get(id):
        name, field = called[id], "tool_call_id"
    elif name is None and called.get(None):
        name, field = called[None], "tool_call_id"
    if not isinstance(name, str) or not name:
        raise refuse(
            f"messages[{index}]", "a tool result without a tool call", hint="give its name as `name`"
        )
    is_builtin = name.split(".")[0] in builtin_tools
    is_full = is_builtin or name.startswith("functions.")
    return Said(
        index,
        "tool",
        _texts(message, index),
        name=(Part(name, field),) if is_full else (Part("functions."), Part(name, field)),
        recipient=_field(message, index, "recipient") or (Part("assistant"),),
        channel=_channel(message, index, "analysis" if is_builtin else "commentary"),
        content_type=_content_type(message, index),
    )


def _texts(message: Mapping[str, Any], index: int) -> tuple[Part, ...]:
    content = message.get("content")
    where = f"messages[{index}].content"
    if isinstance(content, str):
        return (Part(content, "content"),)
    texts = []
    for place, part in enumerate(checked(content, list | tuple, "a string or a list of parts", where)):
        text = part.get("text") if isinstance(part, Mapping) and part.get("type") == "text" else None
        if not isinstance(text, str):
            raise refuse(f"{where}[{place}]", 'expected {"type": "text", "text": …}')
        texts.append(Part(text, f"content[{place}].text"))
    return tuple(texts)


def _field(message: Mapping[str, Any], index: int, field: str) -> tuple[Part, ...]:
    value = checked(message.get(field), str | None, "a string", f"messages[{index}].{field}")
    return () if value is None else (Part(value, field),)


def _named(message: Mapping[str, Any], index: int) -> tuple[Part, ...]:
    name = _field(message, index, "name")
    return (Part(":"), *name) if name else ()


def _channel(message: Mapping[str, Any], index: int, default: str) -> Part:
    given = _field(message, index, "channel")
    if not given:
        return Part(default)
    return Part(given[0].text) if given[0].text in CHANNELS else given[0]


def _content_type(message: Mapping[str, Any], index: int) -> Part:
    given = _field(message, index, "content_type")
    return given[0] if given else Part("")
