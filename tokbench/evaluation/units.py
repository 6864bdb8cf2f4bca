"""The units that the bootstrap draws (lines, records or files), and their keys, which do not depend on parts."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.corpus import Document

UnitKind = Literal["aligned line", "record", "file"]

_ALIGNED = "\0line "
_RECORD = "\0record "

_FILE, _NAMED, _COUNTED = 1 << 62, 2 << 62, 3 << 62
_BITS_OF_PLACE = 44
"""Bits of a key for the position in a file, which is below 16 TiB."""
_MASK = (1 << 62) - 1


def aligned_unit(number: int) -> str:
    """Return the unit of line `number` of every language, a string that is no valid file name.

    >>> unit_kind(aligned_unit(3)), unit_kind("line 3.txt")
    ('aligned line', 'file')
    """
    return f"{_ALIGNED}{number}"


def record_unit(source: str) -> str:
    """Return the unit of all parts of one record of a file, which is one document.

    >>> unit_kind(record_unit("data.jsonl:17"))
    'record'
    """
    return f"{_RECORD}{source}"


def unit_kind(unit: str) -> UnitKind:
    """Return the kind of a unit; a unit that is neither a line nor a record is the name of a file."""
    if unit.startswith(_ALIGNED):
        return "aligned line"
    return "record" if unit.startswith(_RECORD) else "file"


class UnitKeys:
    """Assigns each document the key of its unit, and records the units that are not single documents.

    Attributes:
        single_documents: number of documents that are units by themselves.
        named: kind → the keys of its units.
        line_groups: groups with aligned lines.
    """

    def __init__(self) -> None:
        self.single_documents = 0
        self.named: dict[UnitKind, set[int]] = {"aligned line": set(), "record": set(), "file": set()}
        self.line_groups: set[str] = set()
        self._counted = 0

    def of(self, documents: Sequence[Document]) -> NDArray[np.uint64]:
        """Return the keys of the next documents, uint64[D]; without a unit and a place, the running number is used."""
        return _scrambled(np.fromiter(map(self._number, documents), np.uint64, len(documents)))

    def join(self, single_documents: int, named: Mapping[UnitKind, set[int]], line_groups: set[str]) -> None:
        """Add units that were recorded elsewhere."""
        self.single_documents += single_documents
        self.line_groups |= line_groups
        for kind, numbers in named.items():
            self.named[kind] |= numbers

    @property
    def units(self) -> dict[str, int]:
        """Kind of unit → number of units: "aligned lines", "files", "documents" (records included)."""
        found = {
            "aligned lines": len(self.named["aligned line"]),
            "files": len(self.named["file"]),
            "documents": self.single_documents + len(self.named["record"]),
        }
        return {kind: number for kind, number in found.items() if number}

    def _number(self, document: Document) -> int:
        unit, place = document.unit, document.place
        if unit is not None:
            return self._named(unit, document)
        self.single_documents += 1
        if place is not None:
            return (place[0] << _BITS_OF_PLACE | place[1]) & _MASK
        self._counted += 1
        return _COUNTED | self._counted

    def _named(self, unit: str, document: Document) -> int:
        kind = unit_kind(unit)
        if kind == "file" and document.place is not None:
            number = _FILE | document.place[0]
        else:
            digest = blake2b(unit.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            number = _NAMED | int.from_bytes(digest, "little") & _MASK
        self.named[kind].add(number)
        if kind == "aligned line":
            self.line_groups.add(document.group)
        return number


def _scrambled(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread consecutive numbers over the whole range by a bijection, so that distinct numbers stay distinct.

    Source: Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number Generators" (the mixing of SplitMix64).
    """
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
