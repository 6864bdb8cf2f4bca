"""Tables of cells: texts as they are shown, and beside each the value that it is sorted by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tokbench.render.glyphs import visible

NONE = "–"


@dataclass(frozen=True, slots=True)
class Column:
    """A head.

    Attributes:
        title: its text.
        meaning: more of it, shown when asked for.
        first: which way the first click sorts.
    """

    title: str
    meaning: str = ""
    first: Literal["ascending", "descending"] = "descending"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell.

    Attributes:
        text: what is shown.
        value: what it is sorted by; None is last, whichever way.
        best: whether no other of its column is better.
    """

    text: str
    value: float | str | None
    best: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, the first of each the row's head.

    Attributes:
        caption: what it shows.
        columns: the heads.
        rows: as many cells each.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


def name_cell(name: str) -> Cell:
    """A name."""
    return Cell(visible(name), visible(name))


def count_cell(number: int) -> Cell:
    """A number of things."""
    return Cell(f"{number:,}", number)


def number_cell(value: float | None, text: str) -> Cell:
    """A value as it is shown; a dash where there is none."""
    return Cell(NONE if value is None else text, value)
