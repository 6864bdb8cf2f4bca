"""Tables that are built once for each result, and written by `terminal`, `exports` and the HTML page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tokbench.render.glyphs import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

NONE = "–"
BEST = "*"
Order = Literal["ascending", "descending"]
Value = float | str | None


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell.

    Attributes:
        text: what is shown.
        value: what it is sorted by; None is last, in either order.
        best: whether it is the best of its column.
        style: rich's, for the terminal.
    """

    text: str
    value: Value = None
    best: bool = False
    style: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A head and the cells below it.

    Attributes:
        title: the head.
        cells: one for each row.
        meaning: of the head, in a line.
        name: what JSON and CSV call it, where they have it.
        first: the order in which a table is sorted first.
        align: the side on which cells begin.
        has_best: whether the best of it is marked on the terminal.
        is_detail: left out on the terminal, where there is little room.
        is_long: whether its cells may be folded on the terminal.
    """

    title: str
    cells: tuple[Cell, ...] = ()
    meaning: str = ""
    name: str = ""
    first: Order = "descending"
    align: Literal["left", "right"] = "right"
    has_best: bool = False
    is_detail: bool = False
    is_long: bool = False

    @property
    def values(self) -> tuple[Value, ...]:
        """The values to sort by."""
        return tuple(cell.value for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of the same length, the first of them the heads of the rows.

    Attributes:
        caption: what it shows.
        columns: at least one.
        corner: what the terminal, which shows no caption, has above the heads of the rows.
        bars: a value for each row, which the terminal shows as a bar.
        sections: the rows before which there is a space.
    """

    caption: str
    columns: tuple[Column, ...]
    corner: str = ""
    bars: tuple[float | None, ...] = ()
    sections: frozenset[int] = frozenset()

    @property
    def rows(self) -> list[tuple[Cell, ...]]:
        """The cells of each row."""
        return list(zip(*(column.cells for column in self.columns), strict=True))


def table_of_rows(
    caption: str,
    heads: Sequence[Column],
    rows: Iterable[Sequence[Cell]],
    *,
    corner: str = "",
) -> Table:
    """A table from its rows.

    Args:
        caption: what it shows.
        heads: columns without cells.
        rows: a cell for each column.
        corner: see `Table`.
    """
    cells = list(zip(*rows, strict=True)) or [()] * len(heads)
    columns = tuple(replace(head, cells=column) for head, column in zip(heads, cells, strict=True))
    return Table(caption, columns, corner=corner)


def text_column(
    title: str, texts: Iterable[str] = (), *, meaning: str = "", style: str = "", is_long: bool = False
) -> Column:
    """A column of names or other text."""
    cells = tuple(text_cell(text, style=style) for text in texts)
    return Column(title, cells, meaning=meaning, first="ascending", align="left", is_long=is_long)


def value_column(
    title: str,
    values: Iterable[float | None],
    shown: Callable[[float], str],
    *,
    meaning: str = "",
    name: str = "",
    first: Order = "descending",
) -> Column:
    """A column of values, with a dash where there is none."""
    cells = tuple(Cell(NONE if value is None else shown(value), value) for value in values)
    return Column(title, cells, meaning=meaning, name=name, first=first)


def known_columns(*columns: Column) -> list[Column]:
    """The columns that have a value in some row."""
    return [column for column in columns if any(value is not None for value in column.values)]


def count_column(
    title: str,
    numbers: Iterable[int],
    *,
    meaning: str = "",
    first: Order = "descending",
    is_detail: bool = False,
) -> Column:
    """A column of numbers of things."""
    cells = tuple(count_cell(number) for number in numbers)
    return Column(title, cells, meaning=meaning, first=first, is_detail=is_detail)


def text_cell(text: str, *, style: str = "") -> Cell:
    """A name or another text."""
    return Cell(visible(text), visible(text), style=style)


def count_cell(number: int, *, style: str = "") -> Cell:
    """A number of things."""
    return Cell(f"{number:,}", number, style=style)
