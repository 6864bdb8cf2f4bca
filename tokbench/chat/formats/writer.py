"""A writer that builds the text of a conversation, recording the origin of each piece and JSON value, and the turns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tokbench.chat.formats.fields import kind_of, refuse
from tokbench.chat.rendered import ROLES, TEMPLATE, Origin, Rendered, Runs, Turn

_origin = lru_cache(maxsize=4096)(Origin)


class Writer:
    """A text under construction, with the origin of each piece.

    Attributes:
        prompt: whether the text is to end with the generation prompt.
        size: number of characters so far.

    >>> writer = Writer()
    >>> writer.template("<s>")
    >>> writer.content("Hi", 0, "content")
    >>> writer.finish().runs[1]
    Run(start=3, stop=5, origin=Origin(message=0, field='content'))
    """

    __slots__ = ("_last", "_opened", "_origins", "_ready", "_starts", "_texts", "_turns", "prompt", "size")

    def __init__(self, *, prompt: bool = False) -> None:
        self.prompt = prompt
        self.size = 0
        self._texts: list[str] = []
        self._starts: list[int] = []
        self._origins: list[Origin] = []
        self._turns: list[Turn] = []
        self._last: Origin | None = None
        self._opened = (0, 0)
        self._ready = False

    def _add(self, text: str, origin: Origin) -> None:
        if text:
            if origin is not self._last and origin != self._last:
                self._last = origin
                self._starts.append(self.size)
                self._origins.append(origin)
            self._texts.append(text)
            self.size += len(text)

    def template(self, text: str, message: int | None = None) -> None:
        """Append text of the format, which belongs to a message or to none."""
        self._add(text, TEMPLATE if message is None else _origin(message))

    def content(self, text: str, message: int | None, field: str | None) -> None:
        """Append content: a field of a message, or the value of a tool or variable; None for text of the format."""
        self._add(text, _origin(message, field))

    def begin_turn(self, message: int, header: str = "") -> None:
        """Begin the turn of a message, after a header."""
        if header:
            self._add(header, _origin(message))
        self._opened = (message, self.size)

    def begin_role(self, message: int, before: str, role: str, after: str) -> None:
        """Begin the turn of a message, after a header with its role, which is content unless it is a common one."""
        if role in ROLES:
            self.begin_turn(message, f"{before}{role}{after}")
        else:
            self.template(before, message)
            self.content(role, message, "role")
            self.begin_turn(message, after)

    def end_turn(self, token: str = "", after: str = "") -> None:
        """End the current turn, including the token that closes it; an empty turn is not recorded.

        Args:
            token: the token that ends the turn.
            after: text of the format after it.
        """
        message, start = self._opened
        stop = self.size + len(token)
        if token or after:
            self._add(token + after, _origin(message))
        if start < stop:
            self._turns.append(Turn(message, start, stop))

    def turn(self, message: int, header: str, text: str, *, token: str, after: str = "") -> None:
        """Append a whole turn: a header, the content of the message, the token that ends it, and text after that.

        This is a faster equivalent of `begin_turn`, `content` and `end_turn`, as most text is written this way.
        """
        own = _origin(message)
        if not (header and text and token) or own == self._last:
            self.begin_turn(message, header)
            self.content(text, message, "content")
            self.end_turn(token, after)
            return
        start = self.size + len(header)
        stop = start + len(text)
        self._texts += header, text, token + after
        self._starts += self.size, start, stop
        self._origins += own, _origin(message, "content"), own
        self._turns.append(Turn(message, start, stop + len(token)))
        self._last = own
        self.size = stop + len(token) + len(after)

    def end_ready(self, header: str = "") -> None:
        """If the text is to end with the generation prompt, write the header of the assistant's turn and mark it."""
        if self.prompt:
            self._add(header, TEMPLATE)
            self._ready = True

    def finish(self) -> Rendered:
        """Return the rendered text."""
        runs = Runs(self._starts, self._origins, self.size)
        return Rendered("".join(self._texts), runs, tuple(self._turns), None, self._ready)


def write_json(
    writer: Writer, value: Any, message: int | None, path: str, *, indent: int | None = None
) -> None:
    """Write a value like `json.dumps(value, ensure_ascii=False, indent=indent)`, as the filter `tojson` does.

    A key has the origin of its value; braces, commas and colons have that of their object or list.

    Args:
        writer: the writer to add the text to.
        value: a JSON value.
        message: index of its message; None for a tool.
        path: path of the value, such as `tools[0]`.
        indent: spaces per level; None for one line.

    Raises:
        TemplateError: the value contains something that JSON cannot represent.
    """
    _Json(writer, message, indent).write(value, path, 0)


@dataclass(frozen=True, slots=True)
class _Json:
    """The target of a JSON text: the writer, the message, and the indentation."""

    writer: Writer
    message: int | None
    indent: int | None

    def write(self, value: Any, path: str, level: int) -> None:
        if isinstance(value, str | int | float | None):
            self.writer.content(json.dumps(value, ensure_ascii=False), self.message, path)
            return
        if isinstance(value, Mapping):
            brackets = "{}"
            items = [(_key(key, path), f"{path}.{key}", value[key]) for key in value]
        elif isinstance(value, list | tuple):
            brackets = "[]"
            items = [("", f"{path}[{place}]", item) for place, item in enumerate(value)]
        else:
            raise refuse(path, f"JSON has no {kind_of(value)}")
        if not items:
            self.writer.content(brackets, self.message, path)
            return
        before, separator, after = "", ", ", ""
        if self.indent is not None:
            before, after = (f"\n{' ' * self.indent * deep}" for deep in (level + 1, level))
            separator = f",{before}"
        opening = brackets[0] + before
        for key, item_path, item in items:
            self.writer.content(opening, self.message, path)
            if key:
                self.writer.content(key, self.message, item_path)
                self.writer.content(": ", self.message, path)
            self.write(item, item_path, level + 1)
            opening = separator
        self.writer.content(f"{after}{brackets[1]}", self.message, path)


def _key(key: object, path: str) -> str:
    if not isinstance(key, str):
        raise refuse(path, f"a key is {kind_of(key)}, not a text")
    return json.dumps(key, ensure_ascii=False)
