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


def role_of(message: Mapping[str, Any], index: int, known: Collection[str] | None = None) -> str:
    """Return the role of a message.

    Args:
        message: the message.
        index: index of the message in the conversation.
        known: the roles of the format; None if it accepts any.

    Raises:
        TemplateError: the message is not an object, has no role, or has one that the format does not know.
    """
    if not isinstance(message, dict | Mapping):
        raise refuse(
            f"messages[{index}]", f"expected an object with role and content, found {kind_of(message)}"
        )
    role = message.get("role")
    if not isinstance(role, str):
        raise refuse(f"messages[{index}].role", f"expected a string, found {kind_of(role)}")
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
    raise refuse(where, f"expected a string, found {kind_of(value)}")


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
    if not isinstance(calls, list | tuple):
        raise refuse(where, f"expected a list, found {kind_of(calls)}")
    return [_call(call, f"{where}[{place}]", place) for place, call in enumerate(calls)]


def _call(call: object, where: str, place: int) -> Call:
    if not isinstance(call, Mapping):
        raise refuse(where, f"expected an object, found {kind_of(call)}")
    path = f"tool_calls[{place}]"
    function: object = call
    if "function" in call:
        function, path, where = call["function"], f"{path}.function", f"{where}.function"
    if not isinstance(function, Mapping):
        raise refuse(where, f"expected an object, found {kind_of(function)}")
    name, arguments, id = function.get("name"), function.get("arguments"), call.get("id")
    if not isinstance(name, str):
        raise refuse(f"{where}.name", f"expected a string, found {kind_of(name)}")
    if not isinstance(arguments, str | Mapping):
        raise refuse(f"{where}.arguments", f"expected an object, found {kind_of(arguments)}")
    if not isinstance(id, str | None):
        raise refuse(f"{where}.id", f"expected a string, found {kind_of(id)}")
    return Call(name, arguments, id, path)


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
    value = conversation.variables[name]
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        expected = " or ".join(_KINDS[accepted] for accepted in kinds)
        raise refuse(name, f"expected {expected}, found {kind_of(value)}")
    return value
