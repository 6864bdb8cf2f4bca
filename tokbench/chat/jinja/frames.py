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


def write_frame(stream: BinaryIO, message: Any) -> None:
    """Write a message; strings may hold lone surrogates, numbers any size."""
    written = json.dumps(message, default=_plain, separators=(",", ":")).encode("ascii")
    stream.write(_LENGTH.pack(len(written)) + written)


def read_frame(stream: BinaryIO) -> Any:
    """Read a message.

    Raises:
        EOFError: the other side is gone.
    """
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    size = _LENGTH.unpack(head)[0]
    body = stream.read(size)
    if len(body) < size:
        raise EOFError
    return json.loads(body)


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
