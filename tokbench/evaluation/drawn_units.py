"""The units that the bootstrap resamples: aligned lines, records that were cut into blocks, or files."""

from __future__ import annotations

from typing import Literal

UnitKind = Literal["aligned line", "record", "file"]

_ALIGNED = "\0line "
_RECORD = "\0record "


def aligned_unit(number: int) -> str:
    """The unit of line `number` of every language; no file has such a name.

    >>> unit_kind(aligned_unit(3)), unit_kind("line 3.txt")
    ('aligned line', 'file')
    """
    return f"{_ALIGNED}{number}"


def record_unit(source: str) -> str:
    """The unit of all parts of one record of a file, which is one document.

    >>> unit_kind(record_unit("data.jsonl:17"))
    'record'
    """
    return f"{_RECORD}{source}"


def unit_kind(unit: str) -> UnitKind:
    """What a unit is; one that is neither a line nor a record has the name of its file."""
    if unit.startswith(_ALIGNED):
        return "aligned line"
    return "record" if unit.startswith(_RECORD) else "file"
