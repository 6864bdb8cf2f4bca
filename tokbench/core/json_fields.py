"""Strict reading of the fields of JSON objects that tokbench wrote; errors name a field by its path in the file.

Used for manifests of saved tokenizers, indexes of shards and their journals. Files of other tools are read more
leniently: see `tokbench.formats.tokenizer_config.fields`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tokbench.errors import ModelFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

Value = TypeVar("Value")

MAX_COUNT = 2**53
"""The largest integer that every JSON reader represents exactly."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_MAX_DEPTH = 32  # nesting of JSON values; far above any configuration, far below Python's recursion limit
_MAX_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object; each method reads a field by name and checks its type.

    Every method raises `ModelFormatError`, with the path of the field in the file, for a field that is missing or of
    another type.

    Attributes:
        path: the file, for messages.
        values: the object.
        hint: the hint of error messages.
        prefix: the path of the object in the file, ending with a dot; empty for the whole file.

    >>> from pathlib import Path
    >>> fields = Fields.of({"total": {"tokens": 12}}, path=Path("index.json"), hint="write it again")
    >>> fields.inner("total").count("tokens")
    12
    """

    path: Path
    values: Mapping[str, Any]
    hint: str
    prefix: str = ""

    @classmethod
    def of(cls, value: object, *, path: Path, hint: str, prefix: str = "") -> Fields:
        """Return the fields of a JSON value, which must be an object."""
        if not isinstance(value, dict):
            expected = f"an object as {prefix.removesuffix('.')}" if prefix else "a JSON object"
            raise ModelFormatError(path, expected, described(value), hint=hint)
        return cls(path, value, hint, prefix)

    def wrong(self, name: str, expected: str, *, hint: str | None = None) -> ModelFormatError:
        """Return the error for a field that is not as expected."""
        found = described(self.values[name]) if name in self.values else "nothing"
        return ModelFormatError(
            self.path, f"{expected} as {self._path_of(name)}", found, hint=hint or self.hint
        )

    def is_null(self, name: str) -> bool:
        """Whether a field is present and null."""
        return name in self.values and self.values[name] is None

    def optional(self, name: str, read: Callable[[str], Value]) -> Value | None:
        """Read a field with one of the methods, as `optional("sample", fields.sha256)`; None if missing or null."""
        return None if self.values.get(name) is None else read(name)

    def text(self, name: str) -> str:
        """Return a string, which may be empty."""
        value = self.values.get(name)
        if not isinstance(value, str):
            raise self.wrong(name, "a string")
        return value

    def nonempty_text(self, name: str) -> str:
        """Return a string that is not empty."""
        value = self.text(name)
        if not value:
            raise self.wrong(name, "a string")
        return value

    def texts(self, name: str) -> list[str]:
        """Return a list of strings."""
        value = self.values.get(name)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(name, "a list of texts")
        return value

    def choice(self, name: str, choices: tuple[str, ...]) -> Any:
        """Return a value that must be one of the choices."""
        if self.values.get(name) not in choices:
            raise self.wrong(name, " or ".join(map(repr, choices)))
        return self.values[name]

    def sha256(self, name: str) -> str:
        """Return a SHA-256 in hexadecimal."""
        value = self.text(name)
        if not _SHA256.fullmatch(value):
            raise self.wrong(name, "a sha256 in 64 hexadecimal digits")
        return value

    def count(self, name: str, *, low: int = 0, high: int = MAX_COUNT) -> int:
        """Return an integer from `low` to `high`."""
        value = self.values.get(name)
        if type(value) is not int or not low <= value <= high:  # a bool is an int to isinstance
            raise self.wrong(name, f"a whole number from {low} to {high}")
        return value

    def inner(self, name: str) -> Fields:
        """Return the fields of a nested object."""
        value = self.values.get(name)
        if not isinstance(value, dict):
            raise self.wrong(name, "an object")
        return Fields(self.path, value, self.hint, f"{self._path_of(name)}.")

    def json_object(self, name: str) -> dict[str, Any]:
        """Return an object with any JSON in it, at most 32 levels deep."""
        values = self.inner(name).values
        if _is_deeper_than(values, _MAX_DEPTH):
            expected = f"at most {_MAX_DEPTH} levels as {self._path_of(name)}"
            raise ModelFormatError(self.path, expected, "more", hint=self.hint)
        return dict(values)

    def items(self, name: str) -> list[Fields]:
        """Return the fields of each object in a list."""
        values = self.values.get(name)
        if not isinstance(values, list):
            raise self.wrong(name, "a list")
        return [
            Fields.of(value, path=self.path, hint=self.hint, prefix=f"{self._path_of(name)}[{number}].")
            for number, value in enumerate(values)
        ]

    def _path_of(self, name: str) -> str:
        return f"{self.prefix}{shortened(name)}"


def described(value: object) -> str:
    """Return a short form of a JSON value for an error message.

    >>> described({}), described([1, 2]), described(True), described("a" * 50)
    ('an object', 'a list of 2 items', 'true', "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…'")
    """
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)} items"
    if isinstance(value, str):
        return repr(shortened(value))
    return {"None": "null", "True": "true", "False": "false"}.get(repr(value), repr(value))


def shortened(text: str) -> str:
    """Return at most 40 characters of a text.

    >>> len(shortened("a" * 100)), shortened("abc")
    (40, 'abc')
    """
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"


def _is_deeper_than(value: object, limit: int) -> bool:
    """Whether a JSON value has containers below the given level; stops there, however deep the value is."""
    if not isinstance(value, dict | list):
        return False
    children = value.values() if isinstance(value, dict) else value
    return limit == 0 or any(
        _is_deeper_than(child, limit - 1) for child in children if isinstance(child, dict | list)
    )
