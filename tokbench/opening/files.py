"""Reading what somebody else wrote: sizes are checked first, and JSON says each key once."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Any

from tokbench.errors import ModelFormatError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MAX_FILE_BYTES = 128 * 2**20
"""The largest vocabularies in use are a quarter of this."""


def read_file(path: Path, *, limit: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of a regular file.

    Raises:
        ModelFormatError: it is larger than `limit`, or no regular file.
        StoreError: it cannot be read.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ModelFormatError(path, "a file", "something else")
        if status.st_size > limit:
            raise ModelFormatError(path, f"at most {limit:,} bytes of vocabulary", f"{status.st_size:,}")
        return path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error


def read_head(path: Path, size: int = 4096) -> bytes:
    """The first bytes of a regular file. Raises `ModelFormatError`, `StoreError`."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ModelFormatError(path, "a file or a folder", "something else")
        with path.open("rb") as stream:
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
    import json

    text = decode_text(data, path=path)
    try:
        document = json.loads(text, object_pairs_hook=_object_of_unique_keys)
    except json.JSONDecodeError as error:
        place = f"{path}, line {error.lineno}, column {error.colno}"
        raise ModelFormatError(place, "JSON", f"{error.msg.lower()}") from None
    except _DuplicateKeyError as error:
        raise ModelFormatError(path, "each key once", f"{error.args[0]!a} twice") from None
    except RecursionError:
        raise ModelFormatError(path, "JSON of a vocabulary", "nesting a thousand deep") from None
    if not isinstance(document, dict):
        raise ModelFormatError(path, "a JSON object", f"a JSON {_JSON_NAMES[type(document)]}")
    return document


def decode_text(data: bytes, *, path: Path | str) -> str:
    """The UTF-8 text of a file, without a byte order mark. Raises `ModelFormatError`."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"0x{data[error.start]:02X} at byte {error.start}"
        raise ModelFormatError(path, "UTF-8", found) from None


def first_repeated(texts: Iterable[str]) -> str | None:
    """The first text that has come before, or None.

    >>> first_repeated(["a", "b", "a", "b"])
    'a'
    """
    seen: set[str] = set()
    for text in texts:
        if text in seen:
            return text
        seen.add(text)
    return None


class _DuplicateKeyError(Exception):
    pass


def _object_of_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _DuplicateKeyError(first_repeated(key for key, _ in pairs))
    return made


_JSON_NAMES = {
    list: "array",
    str: "string",
    int: "number",
    float: "number",
    bool: "literal",
    type(None): "null",
}
