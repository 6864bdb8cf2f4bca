"""Messages between the process that renders and the one that waits: JSON, each after its length."""

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
    r"""A message as JSON; strings may hold lone surrogates, numbers any size.

    Raises:
        RecursionError, TypeError, ValueError: it cannot be written as JSON.

    >>> encode(["é", 2**64])
    b'["\\u00e9",18446744073709551616]'
    """
    return json.dumps(message, default=_plain, separators=(",", ":")).encode("ascii")


def write_frame(stream: BinaryIO, encoded: bytes) -> None:
    """Write what `encode` gave."""
    stream.write(_LENGTH.pack(len(encoded)) + encoded)


def read_frame(stream: BinaryIO) -> bytes:
    """Read what the other side wrote.

    Raises:
        EOFError: it is gone.
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
    """What JSON does not know, as `transformers` makes it plain before a template sees it."""
    if isinstance(value, Mapping):
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    for method in ("model_dump", "item"):  # of pydantic, of NumPy's numbers
        if callable(getattr(value, method, None)) and getattr(value, "shape", ()) == ():
            return getattr(value, method)()
    return f"<{type(value).__name__}>"
