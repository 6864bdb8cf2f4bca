"""Messages between the rendering process and its parent: JSON with a length prefix."""

from __future__ import annotations

import dataclasses
import json
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import BinaryIO

_LENGTH = struct.Struct("<Q")


def encode(message: Any) -> bytes:
    r"""Encode a message as JSON; strings may contain lone surrogates, and integers may have any size.

    Raises:
        RecursionError, TypeError, ValueError: it cannot be written as JSON.

    >>> encode(["é", 2**64])
    b'["\\u00e9",18446744073709551616]'
    """
    return json.dumps(message, default=_plain, separators=(",", ":")).encode("ascii")


def write_frame(stream: BinaryIO, encoded: bytes) -> None:
    """Write an encoded message with its length."""
    stream.write(_LENGTH.pack(len(encoded)) + encoded)


def read_frame(stream: BinaryIO) -> bytes:
    """Read an encoded message.

    Raises:
        EOFError: the other side has closed the stream.
    """
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    size: int = _LENGTH.unpack(head)[0]
    body = stream.read(size)
    if len(body) < size:
        raise EOFError
    return body


def _plain(value: Any) -> Any:
    """Convert a value that JSON does not support, as `transformers` does before a template sees it."""
    if isinstance(value, Mapping):
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    for method in ("model_dump", "item"):  # of pydantic, of NumPy's numbers
        if callable(getattr(value, method, None)) and getattr(value, "shape", ()) == ():
            return getattr(value, method)()
    return f"<{type(value).__name__}>"
