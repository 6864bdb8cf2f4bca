"""Convert a conversation for Mistral's formats: messages are checked, and neighbours with the same role joined.

Source: Mistral AI, mistral-common 1.13.1, `protocol/instruct/validator.py` (mode "agnostic") and `normalize.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.chat.formats.fields import calls_of, checked, reasoning_of, refuse, role_of
from tokbench.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.chat.conversation import Conversation
    from tokbench.chat.formats.fields import Call

_ROLES = ("system", "user", "assistant", "tool")
_FOLLOWERS = {
    "system": ("user", "assistant", "system"),
    "user": ("assistant", "system", "user"),
    "assistant": ("assistant", "user", "tool"),
    "tool": ("assistant", "tool", "user"),
}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ID = re.compile(r"[a-zA-Z0-9]{9}")
NO_ID = "null"


class ContentPart(NamedTuple):
    """A text of a message: the content of a field, or a separator (field None)."""

    text: str
    message: int
    field: str | None


class Speech(NamedTuple):
    """The text and calls of one message, or of several neighbouring ones with the same role.

    Attributes:
        role: the role.
        message: index of the first message; 0 for an empty user message that the format adds.
        pieces: the text; may be empty.
        calls: tool calls, each with the index of its message.
        call_id: the id of the call that a tool answers; None if not given.
        name: name of the tool that answers.
        prefix: whether it is to be continued.
    """

    role: str
    message: int
    pieces: tuple[ContentPart, ...] = ()
    calls: tuple[tuple[int, Call], ...] = ()
    call_id: str | None = None
    name: str | None = None
    prefix: bool = False

    @property
    def text(self) -> str:
        """The concatenated text."""
        return "".join(piece.text for piece in self.pieces)


class Rules(NamedTuple):
    """The constraints of a version on messages.

    Attributes:
        has_tools: whether there are tools.
        needs_ids: whether calls and results need ids of nine letters and digits.
        calls_with_text: whether a message may have both text and calls.
    """

    has_tools: bool = True
    needs_ids: bool = True
    calls_with_text: bool = False


def speeches_of(conversation: Conversation, rules: Rules) -> list[Speech]:
    """Convert the messages of a conversation, joining neighbours of the user or the assistant.

    Raises:
        TemplateError: mistral-common refuses the conversation, or cannot represent a part of it.
    """
    messages = conversation.messages
    roles = [role_of(message, index, _ROLES) for index, message in enumerate(messages)]
    _check_order(messages, roles)
    single = [_speech(message, index, roles, rules) for index, message in enumerate(messages)]
    joined: list[Speech] = []
    for role, group in groupby(single, key=lambda speech: speech.role):
        neighbours = list(group)
        joined += [_join(neighbours)] if role in ("user", "assistant") else neighbours
    for speech in joined:
        if speech.role == "assistant":
            _check_said(speech, rules)
    return joined


def _check_said(speech: Speech, rules: Rules) -> None:
    where = f"messages[{speech.message}]"
    if not speech.calls and not speech.pieces:
        raise refuse(where, "the assistant message has neither content nor a tool call")
    if speech.calls and speech.pieces and not rules.calls_with_text:
        raise refuse(where, "the assistant message has both content and a tool call")


def _check_order(messages: Sequence[Mapping[str, Any]], roles: Sequence[str]) -> None:
    if roles[0] == "tool" or (len(roles) == 1 and roles[0] == "assistant"):
        raise refuse("messages[0].role", "a conversation must begin with a user or system message")
    for index, (before, role) in enumerate(pairwise(roles), start=1):
        if role not in _FOLLOWERS[before]:
            raise refuse(f"messages[{index}].role", f"{role!r} cannot follow {before!r}")
    unanswered = 0
    for index, role in enumerate(roles[1:], start=1):
        if role == "tool":
            unanswered -= 1
        elif role == "assistant":
            if unanswered:
                raise refuse(
                    f"messages[{index}]", "before it, the numbers of tool calls and tool results differ"
                )
            unanswered = len(messages[index].get("tool_calls") or ())


def _speech(message: Mapping[str, Any], index: int, roles: Sequence[str], rules: Rules) -> Speech:
    role = roles[index]
    last = index == len(roles) - 1
    pieces = _pieces(message, index)
    if role == "system" and message.get("content") and not pieces:
        raise refuse(f"messages[{index}].content", "its parts are empty")
    if role == "assistant":
        return _assistant(message, index, pieces, rules, last=last)
    if role != "tool":
        return Speech(role, index, pieces)
    if not rules.has_tools:
        raise refuse(f"messages[{index}]", "this format does not support tools")
    call_id, name = message.get("tool_call_id"), message.get("name")
    if call_id is not None or rules.needs_ids:
        _check_id(call_id, f"messages[{index}].tool_call_id", needed=rules.needs_ids)
    if name is not None:
        _check_name(name, f"messages[{index}].name")
    return Speech(role, index, pieces, call_id=call_id, name=name)


def _assistant(
    message: Mapping[str, Any], index: int, pieces: tuple[ContentPart, ...], rules: Rules, *, last: bool
) -> Speech:
    where = f"messages[{index}]"
    if reasoning_of(message, index) is not None:
        raise refuse(where, "this format does not support reasoning", hint="leave it out")
    calls = calls_of(message, index)
    if not calls and not message.get("content") and not rules.calls_with_text:
        raise refuse(where, "the assistant message has neither content nor a tool call")
    if calls and message.get("content") and not rules.calls_with_text:
        raise refuse(where, "a message has either content or tool_calls", hint='give "" for content')
    for call in calls:
        if not call.path.endswith(".function"):
            raise refuse(f"{where}.{call.path}", "expected a `function`")
        _check_name(call.name, f"{where}.{call.path}.name")
        missing = call.id is None or call.id == NO_ID
        if rules.needs_ids and not (missing and last):
            _check_id(call.id, f"{where}.{call.path.removesuffix('.function')}.id", needed=True)
    prefix = message.get("prefix", False)
    if not isinstance(prefix, bool) or (prefix and not last):
        raise refuse(f"{where}.prefix", "it must be true or false, and only the last message can be a prefix")
    return Speech("assistant", index, pieces, tuple((index, call) for call in calls), prefix=prefix)


def _check_id(id: object, where: str, *, needed: bool) -> None:
    if not isinstance(id, str) or (needed and not _ID.fullmatch(id)):
        raise refuse(
            where, f"expected nine letters and digits, found {id!r}", hint="use an id such as 'a1b2c3d4e'"
        )


def _check_name(name: object, where: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise refuse(where, f"expected up to 64 letters, digits, _ and -, found {name!r}")


def _pieces(message: Mapping[str, Any], index: int) -> tuple[ContentPart, ...]:
    """Return the text of a message, which may consist of parts."""
    content = message.get("content")
    where = f"messages[{index}].content"
    if content is None and message["role"] == "assistant":
        return ()
    if isinstance(content, str):
        return (ContentPart(content, index, "content"),) if content else ()
    pieces: list[ContentPart] = []
    for place, part in enumerate(checked(content, list | tuple, "a string or a list of parts", where)):
        text = part.get("text") if isinstance(part, Mapping) and part.get("type") == "text" else None
        if not isinstance(text, str):
            raise refuse(f"{where}[{place}]", 'expected {"type": "text", "text": …}')
        if text and pieces:
            pieces.append(ContentPart("\n\n", index, None))
        if text:
            pieces.append(ContentPart(text, index, f"content[{place}].text"))
    return tuple(pieces)


def _join(group: Sequence[Speech]) -> Speech:
    """Join neighbouring speeches of one role."""
    if len(group) == 1:
        return group[0]
    return Speech(
        group[0].role,
        group[0].message,
        joined_parts([speech.pieces for speech in group]),
        tuple(call for speech in group for call in speech.calls),
        prefix=any(speech.prefix for speech in group),
    )


def joined_parts(texts: Sequence[tuple[ContentPart, ...]]) -> tuple[ContentPart, ...]:
    """Join texts with an empty line, which belongs to the message before it; empty texts are skipped."""
    pieces: list[ContentPart] = []
    for text in texts:
        if text and pieces:
            pieces.append(ContentPart("\n\n", pieces[-1].message, None))
        pieces += text
    return tuple(pieces)


def value_of(text: str, where: str) -> Any:
    """Parse a text as JSON, or return the text itself if it is not JSON.

    Raises:
        TemplateError: it is JSON that Python cannot read.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
    except ValueError as error:
        raise TemplateError(f"{where}: {error}") from error


def tools_of(conversation: Conversation) -> list[dict[str, Any]]:
    """Return the tools of a conversation with the fields that Mistral's formats show, in their order.

    Raises:
        TemplateError: a tool is not a function with a name and an object of parameters.
    """
    return [_tool(tool, f"tools[{place}]") for place, tool in enumerate(conversation.tools)]


def _tool(tool: Mapping[str, Any], where: str) -> dict[str, Any]:
    function = tool.get("function")
    if not isinstance(function, Mapping) or tool.get("type", "function") != "function":
        raise refuse(where, 'expected {"type": "function", "function": {…}}')
    _check_name(function.get("name"), f"{where}.function.name")
    where = f"{where}.function"
    description = checked(function.get("description"), str | None, "a string", f"{where}.description")
    parameters = checked(function.get("parameters"), Mapping | None, "an object", f"{where}.parameters")
    shown = {"name": function["name"], "description": description or "", "parameters": parameters or {}}
    return {"type": "function", "function": shown}
