"""Texts kept for `tokbench check`: a file of JSON lines, of which each is a document with its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from tokbench.errors import StoreError
from tokbench.files.atomic import write_file

if TYPE_CHECKING:
    from pathlib import Path

_MOST_BYTES = 256 << 20


def add_case(file: Path, text: str) -> int:
    """Add a text to a file of cases, which is made where there is none.

    Args:
        file: its name ends with .jsonl, by which `check` reads it as lines of JSON.
        text: the text, exactly as it is.

    Returns:
        How many cases the file has now.

    Raises:
        StoreError: the name ends otherwise, the text is empty, or the file cannot be read or written.
    """
    if file.suffix != ".jsonl":
        raise StoreError(f"{file} is not a file of cases", hint="name a .jsonl file, such as cases.jsonl")
    if not text:
        raise StoreError("there is no text to add", hint="type one")
    before = _content(file)
    made = before + orjson.dumps({"text": text}) + b"\n"
    write_file(file, made)
    return made.count(b"\n")


def _content(file: Path) -> bytes:
    """What is in the file; a last line without an end gets one."""
    try:
        if file.exists() and file.stat().st_size > _MOST_BYTES:
            raise StoreError(f"{file} is too large to add to", hint="name another file")
        content = file.read_bytes() if file.exists() else b""
    except OSError as error:
        raise StoreError(
            f"{file} cannot be read: {error.strerror or error}", hint="name another file"
        ) from None
    return content if not content or content.endswith(b"\n") else content + b"\n"
