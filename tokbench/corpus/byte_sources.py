"""Documents as bytes, for backends that read bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.documents import ByteSource
from tokbench.corpus.bytes import BLOCK_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def packed(name: str, texts: Iterable[str]) -> Iterator[ByteSource]:
    """Documents as sources: those of one line share sources of about 1 MiB, each other one has its own."""
    lines: list[bytes] = []
    size = 0
    for text in texts:
        is_line = "\n" not in text and not text.endswith("\r") and not text.isspace()
        if is_line:
            lines.append(text.encode())
            size += len(lines[-1])
        if lines and (size >= BLOCK_BYTES or not is_line):
            yield ByteSource(name, None, [b"\n".join(lines)], "lines")
            lines.clear()
            size = 0
        if not is_line:
            yield ByteSource(name, None, [text.encode()], "file")
    if lines:
        yield ByteSource(name, None, [b"\n".join(lines)], "lines")
