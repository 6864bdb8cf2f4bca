"""Texts kept for `tokbench check`: a JSON lines file with a document per line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from tokbench.errors import StoreError
from tokbench.files.atomic import write_file

if TYPE_CHECKING:
    from pathlib import Path

_MOST_BYTES = 256 << 20


def add_case(file: Path, text: str) -> int:
    """Append a text to a file of cases, which is created if needed.

    Args:
        file: the file, whose name must end with .jsonl, so that `check` reads it as JSON lines.
        text: the text, stored unchanged.

    Returns:
        The number of cases in the file.

    Raises:
        StoreError: the name has another suffix, the text is empty, or the file cannot be read or written.
    """
    if file.suffix != ".jsonl":
        raise StoreError(f"{file} is not a file of cases", hint="name a .jsonl file, such as cases.jsonl")
    if not text:
        raise StoreError("there is no text to add", hint="type one")
    before = _content(file)
    content = before + orjson.dumps({"text": text}) + b"\n"
    write_file(file, content)
    return content.count(b"\n")


def _content(file: Path) -> bytes:
    """Return the contents of the file; a missing final line end is added."""
    try:
        if file.exists() and file.stat().st_size > _MOST_BYTES:
            raise StoreError(f"{file} is too large to add to", hint="name another file")
        content = file.read_bytes() if file.exists() else b""
    except OSError as error:
        raise StoreError(
            f"{file} cannot be read: {error.strerror or error}", hint="name another file"
        ) from None
    return content if not content or content.endswith(b"\n") else content + b"\n"
