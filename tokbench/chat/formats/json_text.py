"""JSON in templates, with the path of each value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.chat.formats.fields import kind_of, refuse

if TYPE_CHECKING:
    from tokbench.chat.formats.writer import Writer


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
