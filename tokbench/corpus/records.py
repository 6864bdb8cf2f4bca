"""The records of a corpus file: which of their fields are read, and the errors for invalid ones."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tokbench.core.wording import first_of
from tokbench.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Sequence

BETWEEN_FIELDS = "\n\n"
"""What stands between the fields of a text."""

_MAX_FIELDS_NAMED = 12


@dataclass(frozen=True, slots=True)
class RecordFields:
    """Which fields of a record are read.

    Attributes:
        text: the fields of the text, which are joined by a blank line.
        group: the field of the group, or None where groups come from elsewhere.
    """

    text: tuple[str, ...]
    group: str | None = None

    @property
    def columns(self) -> list[str]:
        """All of them, each once."""
        return list(dict.fromkeys([*self.text, *([] if self.group is None else [self.group])]))


class Record(NamedTuple):
    """A record: its line or row counted from 1, its text, its group where a field is asked for one, and its place.

    The place is its first byte or its row in the whole file, also where a part of that is read.
    """

    number: int
    text: str
    group: str | None
    place: int = 0


def not_a_string(field: str, value: object, name: str) -> CorpusError:
    """The error for a record whose text is something else."""
    return CorpusError(
        f"{name}: the field {field!r} is {kind_of(value)}, not a string",
        hint="each record needs its text there; choose another field with --text-field",
    )


def group_name(field: str | None, value: object, name: str) -> str | None:
    """The group that a value names; None for null, and where no field is asked.

    Raises:
        CorpusError: an array or an object.
    """
    if field is None or value is None or isinstance(value, str):
        return value if isinstance(value, str) else None
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise CorpusError(
        f"{name}: the field {field!r} is {kind_of(value)}, which names no group",
        hint="choose another field with --group-by field:NAME",
    )


def listed(names: Sequence[str]) -> str:
    """Names for a message, the first dozen of many."""
    return first_of([*map(repr, names)], _MAX_FIELDS_NAMED) or "none"


def kind_of(value: object) -> str:
    """What JSON calls a value, with its article."""
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
