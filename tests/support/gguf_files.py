"""Small GGUF files."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def gguf(folder: Path, fields: dict[str, Any]) -> Path:
    """Write a GGUF file of strings, integers, booleans, and lists of strings, integers and floats."""

    def string(data: bytes) -> bytes:
        return struct.pack("<Q", len(data)) + data

    def value(of: Any) -> bytes:
        if isinstance(of, bytes):
            return struct.pack("<I", 8) + string(of)
        if isinstance(of, bool):
            return struct.pack("<I?", 7, of)
        if isinstance(of, int):
            return struct.pack("<II", 4, of)
        if isinstance(of[0], bytes):
            return struct.pack("<IIQ", 9, 8, len(of)) + b"".join(map(string, of))
        kind, code = (6, "f") if isinstance(of[0], float) else (5, "i")
        return struct.pack(f"<IIQ{len(of)}{code}", 9, kind, len(of), *of)

    body = b"".join(string(b"tokenizer.ggml." + key.encode()) + value(of) for key, of in fields.items())
    path = folder / "model.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(fields)) + body + bytes(64))
    return path
