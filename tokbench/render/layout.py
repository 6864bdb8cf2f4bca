"""Tables as all of ours look, and how they are printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

_BOLD = "bold"
_NARROWEST_TEXT = 12
"""Columns that a text is folded in at least."""
_BETWEEN_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class Column:
    """A column of figures, or of bars: a cell for each line."""

    title: str
    cells: tuple[Text, ...]
    justify: Literal["left", "right"] = "right"

    @property
    def width(self) -> int:
        """What it takes, without the space beside it."""
        return max(cell_len(self.title), *(cell_len(cell.plain) for cell in self.cells))


def plain_table(*columns: str | tuple[str, Literal["left", "right"]]) -> Table:
    """A table whose texts fold and whose numbers do not."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style=_BOLD)
    for column in columns:
        if isinstance(column, str):
            table.add_column(column, overflow="fold")
        else:
            table.add_column(column[0], justify=column[1], no_wrap=True)
    return table


def grid(*columns: Literal["label", "text"]) -> Table:
    """Columns without lines between them; labels do not fold."""
    table = Table.grid(padding=(0, 2))
    for column in columns:
        table.add_column(no_wrap=column == "label", overflow="fold")
    return table


def print_table(table: Table, *, console: Console) -> None:
    """Print a table without the spaces that fill up its last column.

    What does not fold is shown whole, though the table be wider than the terminal.
    """
    for column in table.columns:
        widths = [cell_len(str(cell)) for cell in (column.header, *column.cells)]
        column.min_width = max(widths) if column.no_wrap else min(max(widths), _NARROWEST_TEXT)
    needed = sum((column.min_width or 0) + _BETWEEN_COLUMNS for column in table.columns) - 1
    options = console.options.update(width=max(console.width, needed))
    for segments in console.render_lines(table, options, pad=False):
        line = Text.assemble(*((segment.text, segment.style or "") for segment in segments))
        line.rstrip()
        console.print(line, soft_wrap=True)


def print_rows(rows: Iterable[tuple[str, Text]], *, console: Console) -> None:
    """Labels with what belongs to them, one below another."""
    table = grid("label", "text")
    for label, value in rows:
        table.add_row(Text(label, style="dim"), value)
    print_table(table, console=console)


def print_panes(
    title: str,
    labels: Sequence[Text],
    columns: Sequence[Column],
    *,
    bars: Column | None = None,
    console: Console,
) -> None:
    """A line for each label: the columns as far as they fit beside the labels, the others in tables below.

    Args:
        title: of the labels.
        labels: at least one.
        columns: at least one.
        bars: stand behind the last column, where there is room.
        console: where it goes.
    """
    first = max(cell_len(label.plain) for label in (Text(title), *labels)) + 1
    *panes, last = _panes(columns, first=first, width=console.width)
    used = first + sum(column.width + _BETWEEN_COLUMNS for column in last)
    if bars is not None and used + bars.width + _BETWEEN_COLUMNS <= console.width:
        last.append(bars)
    for pane in (*panes, last):
        table = plain_table(title, *((column.title, column.justify) for column in pane))
        for number, label in enumerate(labels):
            table.add_row(label, *(column.cells[number] for column in pane))
        print_table(table, console=console)


def _panes(columns: Sequence[Column], *, first: int, width: int) -> Iterator[list[Column]]:
    pane: list[Column] = []
    used = first
    for column in columns:
        if pane and used + _BETWEEN_COLUMNS + column.width > width:
            yield pane
            pane, used = [], first
        pane.append(column)
        used += _BETWEEN_COLUMNS + column.width
    yield pane
