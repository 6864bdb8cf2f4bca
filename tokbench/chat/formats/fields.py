"""Checked access to the fields of messages: roles, texts, tool calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tokbench.chat.conversation import Conversation

_KINDS = {
    type(None): "null", bool: "true or false", int: "a number", float: "a number", str: "a string",
    list: "a list", tuple: "a list", dict: "an object",
}  # fmt: skip


class Call(NamedTuple):
    """A tool call in a message.

    Attributes:
        name: name of the function.
        arguments: an object, or its JSON text.
        id: None if the message has none.
        path: path in the message, such as `tool_calls[0].function`.
    """

    name: str
    arguments: Any
    id: str | None
    path: str


def kind_of(value: object) -> str:
    """Return the name of a JSON value's type.

    >>> kind_of(None), kind_of([1])
    ('null', 'a list')
    """
    return _KINDS.get(type(value), type(value).__name__)


def refuse(where: str, problem: str, *, hint: str | None = None) -> TemplateError:
    """Return the error of a format that does not accept what it found at a place."""
    return TemplateError(f"{where}: {problem}", hint=hint)


def checked(value: Any, kind: Any, what: str, where: str) -> Any:
    """Return a value of some types. Raises `TemplateError` for others, which says what is expected at a place."""
    if not isinstance(value, kind):
        raise refuse(where, f"expected {what}, found {kind_of(value)}")
    return value


def role_of(message: Mapping[str, Any], index: int, known: Collection[str] | None = None) -> str:
    """Return the role of a message.

    Args:
        message: the message.
        index: index of the message in the conversation.
        known: the roles of the format; None if it accepts any.

    Raises:
        TemplateError: the message is not an object, has no role, or has one that the format does not know.
    """
    checked(message, Mapping, "an object with role and content", f"messages[{index}]")
    role: str = checked(message.get("role"), str, "a string", f"messages[{index}].role")
    if known is not None and role not in known:
        raise refuse(
            f"messages[{index}].role", f"this format has no role {role!r}", hint=f"it has {', '.join(known)}"
        )
    return role


def text_of(message: Mapping[str, Any], index: int, field: str = "content") -> str:
    """Return a field of a message that must be a text.

    Raises:
        TemplateError: it is missing, or not a text.
    """
    value = message.get(field)
    if isinstance(value, str):
        return value
    where = f"messages[{index}].{field}"
    if isinstance(value, list | tuple):
        raise refuse(
            where, "this format takes a string, not a list of parts", hint="join the parts into one string"
        )
    if value is None:
        raise refuse(where, "expected a string, found none", hint='give "" for an empty message')
    return str(checked(value, str, "a string", where))


def optional_text(message: Mapping[str, Any], index: int) -> str:
    """Return the content of a message, or "" if it is missing or null.

    Raises:
        TemplateError: it is not a text.
    """
    return "" if message.get("content") is None else text_of(message, index)


class Reasoning(NamedTuple):
    """The reasoning of an assistant message, and the field that it comes from."""

    text: str
    field: str


def reasoning_of(message: Mapping[str, Any], index: int) -> Reasoning | None:
    """Return the reasoning of a message from the first field that has it; None if there is none.

    Raises:
        TemplateError: it is not a text.
    """
    for name in ("reasoning_content", "thinking", "reasoning"):
        if message.get(name) is not None:
            return Reasoning(text_of(message, index, name), name)
    return None


def alternating_role(message: Mapping[str, Any], index: int, first: int) -> str:
    """Return the role of a message, checking that user and assistant alternate, beginning with the user.

    Args:
        message: the message.
        index: index of the message in the conversation.
        first: index of the first message after an optional system message.

    Raises:
        TemplateError: it is the turn of the other role.
    """
    role, expected = role_of(message, index), ("user", "assistant")[(index - first) % 2]
    if role != expected:
        raise refuse(
            f"messages[{index}].role",
            f"expected {expected!r}, found {role!r}",
            hint="user and assistant messages must alternate, after an optional system message",
        )
    return role


def require_user(messages: Sequence[Mapping[str, Any]], first: int) -> None:
    """Refuse a conversation with only a system message, if the format writes that into a user message."""
    if len(messages) == first:
        raise refuse("messages[0]", "a system message has to be followed by a user message")


def calls_of(message: Mapping[str, Any], index: int) -> list[Call]:
    """Return the tool calls of a message; empty if it has none.

    Raises:
        TemplateError: `tool_calls` is not a list of objects with a function's name and arguments.
    """
    calls = message.get("tool_calls")
    if not calls and (calls is None or isinstance(calls, list | tuple)):
        return []
    where = f"messages[{index}].tool_calls"
    checked(calls, list | tuple, "a list", where)
    return [_call(call, f"{where}[{place}]", place) for place, call in enumerate(calls)]


def _call(call: Any, where: str, place: int) -> Call:
    function, path = checked(call, Mapping, "an object", where), f"tool_calls[{place}]"
    if "function" in call:
        function, path, where = call["function"], f"{path}.function", f"{where}.function"
    checked(function, Mapping, "an object", where)
    name = checked(function.get("name"), str, "a string", f"{where}.name")
    arguments = checked(function.get("arguments"), str | Mapping, "an object", f"{where}.arguments")
    return Call(name, arguments, checked(call.get("id"), str | None, "a string", f"{where}.id"), path)


def variable(
    conversation: Conversation, name: str, kind: type | tuple[type, ...], default: Any = None
) -> Any:
    """Return a variable of the conversation.

    Args:
        conversation: the conversation.
        name: name of the variable.
        kind: the accepted types.
        default: the value if the variable is not set.

    Raises:
        TemplateError: the variable has another type.
    """
    if name not in conversation.variables:
        return default
    kinds = kind if isinstance(kind, tuple) else (kind,)
    what = " or ".join(_KINDS[accepted] for accepted in kinds)
    return checked(conversation.variables[name], kind, what, name)
