"""Detection of JSON files that hold records but are read as one text, because their names do not end in .jsonl."""

from __future__ import annotations

import json
import re
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from tokbench.corpus.bytes import read_blocks
from tokbench.errors import TokbenchError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.corpus.files import CorpusFile

_MOST_FILES = 4
"""The number of files that are looked at: those of a corpus are alike."""
_LIST = re.compile(rb"\s*\[\s*\{")


class RecordsAsText(NamedTuple):
    """A file of records that is read as text; `is_list` is false if each line is a record."""

    file: CorpusFile
    is_list: bool


def records_as_text(files: Iterable[CorpusFile]) -> RecordsAsText | None:
    """Return the first .json file that holds a list of records, or a record on each of its first two lines."""
    named = (file for file in files if file.plain_name.lower().endswith(".json"))
    for file in islice((file for file in named if not file.stream and file.url is None), _MOST_FILES):
        head = _head(file)
        if _LIST.match(head):
            return RecordsAsText(file, is_list=True)
        lines = head.split(b"\n", 2)
        if len(lines) > 1 and lines[1].startswith(b"{") and _is_object(lines[0]):
            return RecordsAsText(file, is_list=False)
    return None


def _head(file: CorpusFile) -> bytes:
    try:
        with closing(read_blocks(file)) as blocks:
            return next(blocks, b"")
    except TokbenchError:  # reading the text will raise it
        return b""


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
