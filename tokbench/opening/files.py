"""Reading what somebody else wrote: sizes are checked first, and JSON says each key once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.errors import ModelFormatError, StoreError
from tokbench.reading import decode_text, first_repeated, load_strict_json, open_regular, read_regular

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["MAX_FILE_BYTES", "decode_text", "first_repeated", "parse_json", "read_file", "read_head"]

MAX_FILE_BYTES = 128 * 2**20
"""The largest vocabularies in use are a quarter of this."""


def read_file(path: Path, *, limit: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of a regular file.

    Raises:
        ModelFormatError: it is larger than `limit`, or no regular file.
        StoreError: it cannot be read.
    """
    try:
        return read_regular(path, limit=limit)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error


def read_head(path: Path, size: int = 4096) -> bytes:
    """The first bytes of a regular file. Raises `ModelFormatError`, `StoreError`."""
    try:
        with open_regular(path) as stream:
            return stream.read(size)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error


def parse_json(data: bytes, *, path: Path | str) -> dict[str, Any]:
    r"""A JSON object; a key that comes twice, a lone surrogate or deep nesting is refused.

    Raises:
        ModelFormatError: it is something else; the line and column are named.

    >>> parse_json(b'{"a": 1}', path="vocab.json")
    {'a': 1}
    """
    document = load_strict_json(data, path=path)
    if not isinstance(document, dict):
        raise ModelFormatError(path, "a JSON object", f"a JSON {_JSON_NAMES[type(document)]}")
    return document


_JSON_NAMES = {
    list: "array",
    str: "string",
    int: "number",
    float: "number",
    bool: "literal",
    type(None): "null",
}
