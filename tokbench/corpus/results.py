"""Recognition of folders that tokbench has written: saved tokenizers, counted words and shards are not texts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokbench.errors import ModelFormatError
from tokbench.files.untrusted import open_regular

if TYPE_CHECKING:
    from pathlib import Path

_INDEXES = ("tokbench.json", "words.json", "index.json", "journal.jsonl", "plan.json")
"""Names of the files that describe the contents of such folders, finished or not."""
_BEGINNING = re.compile(rb'\{\s*(?:"schema":\s*"tokbench\.|"files":\s*\[\s*\{\s*"address":)')
"""The schema comes first, except in a plan, whose keys are sorted."""
_HEAD_BYTES = 64


def is_result(folder: Path) -> bool:
    """Whether tokbench has written a folder, by the beginning of the file that describes its contents.

    >>> from pathlib import Path
    >>> is_result(Path("no/such/folder"))
    False
    """
    return any(_BEGINNING.match(_head(folder / name)) for name in _INDEXES)


def _head(path: Path) -> bytes:
    try:
        with open_regular(path) as stream:
            return stream.read(_HEAD_BYTES)
    except (OSError, ModelFormatError):
        return b""
