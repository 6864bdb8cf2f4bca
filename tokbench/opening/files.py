"""Reading what somebody else wrote: sizes are checked first, and JSON says each key once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.errors import ModelFormatError, StoreError
from tokbench.files.untrusted import decode_text, first_repeated, load_strict_json, open_regular, read_regular
from tokbench.opening.compressed import compression_in, unpacked, unpacked_head
from tokbench.opening.placeholders import refuse_placeholder

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "MAX_FILE_BYTES",
    "decode_text",
    "first_repeated",
    "is_packed",
    "parse_json",
    "read_file",
    "read_head",
]

MAX_FILE_BYTES = 128 * 2**20
"""The largest vocabularies in use are a quarter of this."""

_MAGIC_BYTES = 16
_HEAD_BYTES = 4096


def read_file(path: Path, *, limit: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of a regular file; of a compressed one what is in it.

    Raises:
        ModelFormatError: it is larger than `limit`, packed or unpacked, or no regular file, or only stands for one
            that was not downloaded.
        StoreError: it cannot be read.
    """
    data = _read_file(path, limit=limit)
    compression = compression_in(data[:_MAGIC_BYTES])
    data = data if compression is None else unpacked(path, compression, limit=limit)
    refuse_placeholder(path, data[:_HEAD_BYTES])
    return data


def _read_file(path: Path, *, limit: int) -> bytes:
    try:
        return read_regular(path, limit=limit)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error


def read_head(path: Path, size: int = _HEAD_BYTES) -> bytes:
    """The first bytes of a regular file; of a compressed one what it unpacks to.

    Raises:
        ModelFormatError: it is no regular file, only stands for one, or its compressed data is damaged.
        StoreError: it cannot be read.
    """
    head = _read_head(path, size)
    compression = compression_in(head)
    head = head if compression is None else unpacked_head(path, compression, size=size)
    refuse_placeholder(path, head)
    return head


def is_packed(path: Path) -> bool:
    """Whether a file is compressed. Raises as `read_head`."""
    return compression_in(_read_head(path, _MAGIC_BYTES)) is not None


def _read_head(path: Path, size: int) -> bytes:
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
