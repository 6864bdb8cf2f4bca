"""The records of a corpus file: the fields to read, the errors for invalid ones, and records that are read as text."""

from __future__ import annotations

import json
import re
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, NamedTuple

from tokbench.core.wording import first_of
from tokbench.corpus.bytes import read_blocks
from tokbench.errors import CorpusError, TokbenchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokbench.corpus.files import CorpusFile


BETWEEN_FIELDS = "\n\n"
"""The separator of the fields of a text."""

_MAX_FIELDS_NAMED = 12


@dataclass(frozen=True, slots=True)
class RecordFields:
    """The fields of a record to read.

    Attributes:
        text: the fields of the text, which are joined by a blank line.
        group: the field of the group, or None if groups do not come from a field.
    """

    text: tuple[str, ...]
    group: str | None = None

    @property
    def columns(self) -> list[str]:
        """All fields, without duplicates."""
        return list(dict.fromkeys([*self.text, *([] if self.group is None else [self.group])]))


class Record(NamedTuple):
    """A record: its line or row (from 1), its text, its group if a field determines it, and its place.

    The place is its first byte or its row in the whole file, also if only a part of the file is read.
    """

    number: int
    text: str
    group: str | None
    place: int = 0


def not_a_string(field: str, value: object, name: str) -> CorpusError:
    """Return the error for a record whose text is not a string."""
    return CorpusError(
        f"{name}: the field {field!r} is {kind_of(value)}, not a string",
        hint="each record needs its text there; choose another field with --text-field",
    )


def group_name(field: str | None, value: object, name: str) -> str | None:
    """Return the group that a value names; None for null or blank text, or without a field.

    Raises:
        CorpusError: the value is an array or an object.
    """
    if field is None or value is None:
        return None
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise CorpusError(
        f"{name}: the field {field!r} is {kind_of(value)}, which names no group",
        hint="choose another field with --group-by field:NAME",
    )


def listed(names: Sequence[str]) -> str:
    """Return names for a message, at most the first dozen."""
    return first_of([*map(repr, names)], _MAX_FIELDS_NAMED) or "none"


def kind_of(value: object) -> str:
    """Return the JSON type of a value, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"


_MOST_FILES = 4
"""The number of files that are looked at: those of a corpus are alike."""
_LIST = re.compile(rb"\s*\[\s*\{")


_SEPARATORS = {".csv": (b",", b";"), ".tsv": (b"\t",)}


class RecordsAsText(NamedTuple):
    """A file of records that is read as text: a list of them, one on each line, or a table with titles."""

    file: CorpusFile
    form: Literal["list", "lines", "table"]


def records_as_text(files: Iterable[CorpusFile]) -> RecordsAsText | None:
    """Return the first .json file with a list of records, or a record on each of its first two lines, or a table."""
    named = (file for file in files if _ending(file) in {".json", *_SEPARATORS})
    for file in islice((file for file in named if not file.stream and file.url is None), _MOST_FILES):
        head = _head(file)
        lines = head.split(b"\n", 2)
        if separators := _SEPARATORS.get(_ending(file)):
            if len(lines) > 1 and any(separator in lines[0] for separator in separators):
                return RecordsAsText(file, "table")
        elif _LIST.match(head):
            return RecordsAsText(file, "list")
        elif len(lines) > 1 and lines[1].startswith(b"{") and _is_object(lines[0]):
            return RecordsAsText(file, "lines")
    return None


def _ending(file: CorpusFile) -> str:
    return PurePath(file.plain_name.lower()).suffix


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
