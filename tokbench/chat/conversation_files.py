"""Read conversations from JSON and JSON lines, also in the ShareGPT format, checking each field."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokbench.chat.conversation import Conversation
from tokbench.errors import ModelFormatError
from tokbench.files.untrusted import compression_of, refuse_placeholder
from tokbench.files.untrusted_json import check_depth

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_SHAREGPT_ROLES = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "assistant": "assistant",
    "system": "system",
    "tool": "tool",
    "observation": "tool",
}
_LISTS = ("tools", "documents")
_TOOLS_HINT = 'tools are a list: [{"type": "function", "function": {"name": "f", "parameters": {}}}]'
_HEAD_BYTES = 4096
_HINT = 'a conversation is {"messages": [{"role": "user", "content": "Hi"}]}, or the list alone'


@dataclass(frozen=True, slots=True)
class ReadConversation:
    """A conversation and the place that it was read from.

    Attributes:
        conversation: the conversation.
        place: the file, and the line if it holds several conversations.
        num_bytes: size of its JSON.
    """

    conversation: Conversation
    place: str
    num_bytes: int


def read_conversations(lines: Iterable[bytes], *, name: str) -> Iterator[ReadConversation]:
    r"""Yield the conversations of a file: one JSON value, a list of conversations, or one conversation per line.

    Args:
        lines: the lines of the file, with their line ends.
        name: name of the file in errors.

    Raises:
        ModelFormatError: the file holds anything else; the error names line and field.

    >>> [found] = read_conversations([b'[{"role": "user", "content": "Hi"}]\n'], name="chat.json")
    >>> found.conversation.messages[0]["content"]
    'Hi'
    """
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    found = conversations_of_lines(numbered, name=name)
    first = next(found, None)
    if first is None:
        raise ModelFormatError(name, "a conversation", "an empty file", hint=_HINT)
    yield first
    yield from found


def conversations_of_lines(
    numbered: Iterator[tuple[int, bytes]], *, name: str, most_bytes: int | None = None
) -> Iterator[ReadConversation]:
    """Yield the conversations of numbered non-blank lines; none if there are no lines.

    Args:
        numbered: the lines with their numbers.
        name: name of the file in errors.
        most_bytes: maximum size of a JSON value that spans several lines; None for no limit.

    Raises:
        ModelFormatError: the lines hold anything else, or a value is too long; the error names line and field.
    """
    first = next(numbered, None)
    if first is None:
        return
    if first[1].startswith(b"PAR1"):
        raise ModelFormatError(name, "JSON", "Parquet, which is read from plain files named .parquet only")
    value = _load_line(first[1].removeprefix(b"\xef\xbb\xbf"))
    if isinstance(value, _NotJson):  # JSON that spans several lines, or no JSON
        whole = _join_lines(chain([first], numbered), name=name, most_bytes=most_bytes)
        yield from _conversations_of(_parsed(whole, place=name), place=name, num_bytes=len(whole))
        return
    second = next(numbered, None)
    place = name if second is None else f"{name}, line {first[0]}"
    yield from _conversations_of(_checked(value, place=place), place=place, num_bytes=len(first[1]))
    for number, line in chain([second] if second else [], numbered):
        place = f"{name}, line {number}"
        yield from _conversations_of(_parsed(line, place=place), place=place, num_bytes=len(line))


def _join_lines(numbered: Iterable[tuple[int, bytes]], *, name: str, most_bytes: int | None) -> bytes:
    """Join lines, keeping each at its line number for error messages. Raises `ModelFormatError`."""
    parts: list[bytes] = []
    size, at = 0, 1
    for number, line in numbered:
        parts += [b"\n" * (number - at), line.rstrip(b"\r\n")]
        at = number
        size += len(line)
        if most_bytes is not None and size > most_bytes:
            raise ModelFormatError(
                name,
                f"a conversation on each line, or at most {most_bytes:,} bytes",
                "more, and no JSON on the first line",
                hint="--max-document-bytes raises the limit",
            )
    return b"".join(parts)


def parse_conversation(value: object, *, place: str) -> Conversation:
    """Parse a conversation: an object with `messages` or ShareGPT's `conversations`, or a list of messages.

    Raises:
        ModelFormatError: the value is anything else; the error names the field.
    """
    if isinstance(value, list):
        return Conversation(messages=_messages(value, place=place, path="messages"))
    if not isinstance(value, dict):
        raise ModelFormatError(place, "a conversation", _kind(value), hint=_HINT)
    if "messages" not in value and isinstance(value.get("conversations"), list):
        turns = [
            _from_sharegpt(turn, place=place, path=f"conversations[{n}]")
            for n, turn in enumerate(value["conversations"])
        ]
        if isinstance(value.get("system"), str) and value["system"]:
            turns.insert(0, {"role": "system", "content": value["system"]})
        messages = _messages(turns, place=place, path="conversations")
    else:
        if "messages" not in value:
            raise ModelFormatError(place, "a field `messages`", _listed(value), hint=_HINT)
        messages = _messages(value["messages"], place=place, path="messages")
    tools, documents = (_objects(value.get(field), place=place, path=field) for field in _LISTS)
    variables = value.get("chat_template_kwargs") or {}
    _checked_type(variables, dict, f"{place}, chat_template_kwargs", "an object")
    return Conversation(messages=messages, tools=tools, documents=documents, variables=variables)


def conversation_of(
    messages: Sequence[Mapping[str, Any]],
    *,
    tools: Sequence[Mapping[str, Any]] = (),
    documents: Sequence[Mapping[str, Any]] = (),
    variables: Mapping[str, Any] | None = None,
    is_unfinished: bool = False,
) -> Conversation:
    """Build and check a conversation from the arguments of a program. Raises `ModelFormatError`."""
    if not isinstance(messages, Iterable):
        raise ModelFormatError("the conversation", "a list of messages", type(messages).__name__)
    value = {"messages": list(messages), "tools": list(tools), "documents": list(documents)}
    found = parse_conversation(value, place="the conversation")
    return replace(found, variables=dict(variables or {}), is_unfinished=is_unfinished)


def parse_tools(data: bytes, *, name: str) -> tuple[Mapping[str, Any], ...]:
    """Parse the tools of a file: a JSON list of objects, or an object with `tools`. Raises `ModelFormatError`."""
    value = _parsed(data, place=name, hint=_TOOLS_HINT)
    return _objects(
        value.get("tools") if isinstance(value, dict) and "tools" in value else value,
        place=name,
        path="tools",
    )


# --- fields -----------------------------------------------------------------------------------


def _messages(value: object, *, place: str, path: str) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(value, list):
        raise ModelFormatError(f"{place}, {path}", "a list of messages", _kind(value), hint=_HINT)
    if not value:
        raise ModelFormatError(f"{place}, {path}", "messages", "an empty list")
    for number, message in enumerate(value):
        _check_message(message, place=place, path=f"{path}[{number}]")
    return tuple(value)


def _check_message(message: Any, *, place: str, path: str) -> None:
    _checked_type(message, dict, f"{place}, {path}", "an object with a role")
    if not isinstance(message.get("role"), str):
        found = _kind(message["role"]) if "role" in message else f"none, but {_listed(message)}"
        raise ModelFormatError(f"{place}, {path}.role", "a string", found)
    content = message.get("content")
    if isinstance(content, list):
        for number, part in enumerate(content):
            where = f"{place}, {path}.content[{number}]"
            _checked_type(part, dict | str, where, "a part as an object")
            if isinstance(part, dict):
                _checked_type(part.get("text", ""), str, f"{where}.text", "a string")
    else:
        expected = "a string, null or a list of parts"
        _checked_type(content, str | dict | None, f"{place}, {path}.content", expected)
    calls = message.get("tool_calls")
    if calls is not None:
        for number, call in enumerate(_objects(calls, place=place, path=f"{path}.tool_calls")):
            _check_call(call, place=place, path=f"{path}.tool_calls[{number}]")
    for field in ("name", "tool_call_id", "reasoning_content"):
        _checked_type(message.get(field), str | None, f"{place}, {path}.{field}", "a string")


def _check_call(call: Mapping[str, Any], *, place: str, path: str) -> None:
    function = call.get("function", call)
    _checked_type(function, dict, f"{place}, {path}.function", "an object")
    inside = f"{path}.function" if "function" in call else path
    _checked_type(function.get("name"), str, f"{place}, {inside}.name", "a string")


def _objects(value: Any, *, place: str, path: str) -> tuple[Mapping[str, Any], ...]:
    if value is None:
        return ()
    if isinstance(value, str):  # data sets store objects of varying fields as JSON strings
        value = _parsed(value.encode(errors="surrogatepass"), place=f"{place}, {path}")
    for number, item in enumerate(_checked_type(value, list, f"{place}, {path}", "a list of objects")):
        _checked_type(item, dict, f"{place}, {path}[{number}]", "an object")
    return tuple(value)


def _from_sharegpt(turn: Any, *, place: str, path: str) -> dict[str, Any]:
    _checked_type(turn, dict, f"{place}, {path}", "an object with from and value")
    if "role" in turn:
        return dict(turn)
    speaker, text = turn.get("from"), turn.get("value")
    if not isinstance(speaker, str) or speaker not in _SHAREGPT_ROLES:
        known = ", ".join(_SHAREGPT_ROLES)
        raise ModelFormatError(f"{place}, {path}.from", f"one of {known}", f"{speaker!a:.40}")
    _checked_type(text, str, f"{place}, {path}.value", "a string")
    return {"role": _SHAREGPT_ROLES[speaker], "content": text}


# --- JSON -------------------------------------------------------------------------------------


class _NotJson:
    """The result of parsing a line that is not a JSON value by itself."""


def _load_line(line: bytes) -> object:
    import orjson

    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return _NotJson()


def _parsed(data: bytes, *, place: str, hint: str = _HINT) -> Any:
    import orjson

    try:
        value = orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        refuse_placeholder(place, data[:_HEAD_BYTES])
        if (compression := compression_of(data)) is not None:
            raise ModelFormatError(
                place, "JSON", f"data that {compression} compressed", hint="unpack it, also by a pipe to -"
            ) from None
        where = f", line {error.lineno}" if "line" not in place else ""
        raise ModelFormatError(
            f"{place}{where}, column {error.colno}",
            "JSON",
            f"a syntax error: {error.msg.partition(':')[0]}",
            hint=hint,
        ) from None
    return _checked(value, place=place)


def _checked(value: Any, *, place: str) -> Any:
    check_depth(value, path=place)
    return value


def _conversations_of(value: Any, *, place: str, num_bytes: int) -> Iterator[ReadConversation]:
    """Yield the conversations of a document, which is one conversation or a list of several."""
    if isinstance(value, list) and value and _is_conversation(value[0]):
        import orjson

        for number, conversation in enumerate(value):
            inside = f"{place}, [{number}]"
            yield ReadConversation(
                parse_conversation(conversation, place=inside), inside, len(orjson.dumps(conversation))
            )
    else:
        yield ReadConversation(parse_conversation(value, place=place), place, num_bytes)


def _is_conversation(value: object) -> bool:
    return isinstance(value, list) or (
        isinstance(value, dict) and not {"messages", "conversations"}.isdisjoint(value)
    )


def _checked_type(value: Any, kind: Any, place: str, expected: str) -> Any:
    """Return a value of some types. Raises `ModelFormatError` for others."""
    if not isinstance(value, kind):
        raise ModelFormatError(place, expected, _kind(value))
    return value


def _kind(value: object) -> str:
    """Return the name of a JSON value's type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    names = ((str, "a string"), (int, "a number"), (float, "a number"), (list, "a list"))
    return next((name for kind, name in names if isinstance(value, kind)), "an object")


def _listed(value: Mapping[str, object]) -> str:
    return (
        ("the fields " + ", ".join(f"{key!a:.30}" for key in list(value)[:6])) if value else "an empty object"
    )
