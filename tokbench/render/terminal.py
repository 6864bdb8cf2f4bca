"""Tables on the terminal: titles and rules, several panes if a table is too wide, and bars."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby, islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.table import Table as RichTable
from rich.text import Text

from tokbench.render.glyphs import visible
from tokbench.render.table import BEST, LOSSY, Cell, Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console, RenderableType

    from tokbench.render.table import Table

_NARROWEST_TEXT = 12
"""Minimum columns for wrapped cells."""
_WIDEST_TITLE = 24
"""Columns up to which a title is in one row."""
_BETWEEN_COLUMNS = 3
BETWEEN_LABELS = 2
"""Columns between a label and its value in rows of both."""
_PADDING = (0, BETWEEN_LABELS)
_UNBROKEN = "\ue000"
"""Replaces a space at which a line must not break; private-use characters never occur in the output otherwise."""
_LONGEST_UNBROKEN = 44
_BREAKABLE = "\x1f"
"""Put where a name may be broken: white space to Rich, without width; never part of the output."""
_INSIDE_NAME = re.compile(r"(?<=[\w)\]}][/_.:-])(?=\w)")
"""Where a name that is too long is broken: after a separator between words."""
_IN_QUOTES = re.compile(r'"(?:[^"\\]|\\.)*"')
_BAR_WIDTH = 24
_EIGHTHS = " ▏▎▍▌▋▊▉█"

_BREAKS = re.compile(f" +|│|{_BREAKABLE}")
_NARROWEST = 20
"""Minimum columns for wrapped lines."""
_ROWS_AT_ONCE = 32
_INDENT = 4
"""Columns before a cell that is printed below the others of its row."""


def write_table(table: Table, *, bar_width: int = _BAR_WIDTH, console: Console) -> None:
    """Print a table with titles; columns that do not fit go into further tables below, with the same first column.

    Args:
        table: the table; detail columns are skipped, and bars if there is no room for them.
        bar_width: columns of the longest bar.
        console: the console to print to.
    """
    labels, *columns = map(_with_folded_title, _without_details(table))
    labels = replace(labels, title=table.corner)
    used = min(_width(labels), max(console.width * 2 // 5, _NARROWEST_TEXT)) + 1
    *panes, last = _panes(columns, first=used, width=console.width)
    if table.bars:
        bars = _with_folded_title(_bars(table.bars, width=bar_width, title=table.bars_title))
        used += sum(_width(column) + _BETWEEN_COLUMNS for column in (*last, bars))
        last = [*last, bars] if used <= console.width else last
    for pane in (*panes, last):
        lines = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for column in (labels, *pane):
            folds = column.is_long or column is labels
            lines.add_column(column.title, justify=column.align, no_wrap=not folds, overflow="fold")
        for number, (label, *row) in enumerate(zip(*map(_texts, (labels, *pane)), strict=True)):
            if number in table.sections:
                lines.add_section()
            lines.add_row(_with_breaks(label), *row)
        print_table(lines, console=console)


def write_grid(table: Table, *, console: Console) -> None:
    """Print a table without titles."""
    columns = [*_without_details(table), *([_bars(table.bars, width=_BAR_WIDTH)] if table.bars else [])]
    lines = RichTable.grid(padding=_PADDING)
    for column in columns:
        lines.add_column(justify=column.align, no_wrap=not column.is_long, overflow="fold")
    for row in zip(*map(_texts, columns), strict=True):
        lines.add_row(*row)
    print_table(lines, console=console)


def write_condensed(table: Table, *, console: Console) -> None:
    """Print a line per row title, with all rows of that title side by side."""
    for_head = groupby(
        zip(*(column.cells for column in _without_details(table)), strict=True), key=lambda row: row[0].text
    )
    lines = (
        (head, Text("   ".join(" ".join(cell.text for cell in cells) for _, *cells in rows)))
        for head, rows in for_head
    )
    print_rows(lines, console=console)


def print_grid(rows: Iterable[Sequence[Text]], *, num_texts: int = 1, console: Console) -> None:
    """Print rows without lines between columns; all but the last `num_texts` columns are labels, which do not wrap."""
    cells = list(rows)
    if not cells:
        return
    table = RichTable.grid(padding=_PADDING)
    for place in range(len(cells[0])):
        table.add_column(no_wrap=place < len(cells[0]) - num_texts, overflow="fold")
    for row in cells:
        table.add_row(*row)
    print_table(table, console=console)


def print_rows(rows: Iterable[tuple[str, Text]], *, console: Console) -> None:
    """Print labels with their values, one per row."""
    print_grid(((Text(label, style="dim"), value) for label, value in rows), console=console)


def print_lines(lines: Iterable[str], *, style: str = "", console: Console) -> None:
    """Print sentences, one per line, with all characters made visible."""
    for line in lines:
        console.print(Text(visible(line), style=style))


def print_notes(notes: Iterable[str], *, console: Console) -> None:
    """Print notes below a sheet; lines after the first line of a note are meant for copying and do not wrap."""
    for note in notes:
        first, *others = note.split("\n")
        console.print(Text(f"note: {visible(first)}", style="yellow"))
        for line in others:
            console.print(Text(visible(line), style="yellow"), soft_wrap=True)


def print_table(table: RichTable, *, console: Console) -> None:
    """Print a table without the padding of its last column.

    Columns that do not wrap are printed in full, even if the table becomes wider than the terminal. In a grid, the
    last cells are then printed below the others.
    """
    for column in table.columns:
        widths = [cell_len(row) for cell in (column.header, *column.cells) for row in str(cell).split("\n")]
        column.min_width = max(widths) if column.no_wrap else min(max(widths), _NARROWEST_TEXT)
    needed = sum((column.min_width or 0) + _BETWEEN_COLUMNS for column in table.columns) - 1
    if needed > console.width and not table.box and not table.columns[-1].no_wrap:
        _print_stacked(table, console=console)
        return
    options = console.options.update(width=max(console.width, needed))
    for segments in console.render_lines(table, options, pad=False):
        parts = (
            (segment.text.replace(_UNBROKEN, " ").replace(_BREAKABLE, ""), segment.style or "")
            for segment in segments
        )
        line = Text.assemble(*parts)
        line.rstrip()
        console.print(line, soft_wrap=True)


def _print_stacked(table: RichTable, *, console: Console) -> None:
    """Print the rows of a grid one cell after the other, with the last cell below and indented."""
    for *labels, last in zip(*(column.cells for column in table.columns), strict=True):
        head = Text("  ").join(filter(None, map(_with_spaces, labels)))
        print_folded([Line(head)] * bool(head), console=console)
        print_folded((Line(part, _INDENT) for part in _with_spaces(last).split("\n")), console=console)


def _with_spaces(cell: RenderableType) -> Text:
    """Return a cell as text in which every space can be seen."""
    text = cell if isinstance(cell, Text) else Text(str(cell))
    return Text(" ").join(text.split(_UNBROKEN, allow_blank=True))


def unbroken(text: str) -> str:
    """Prevent `print_table` from wrapping a text at spaces inside quoted tokens, except long ones."""

    def kept(match: re.Match[str]) -> str:
        return match[0].replace(" ", _UNBROKEN) if len(match[0]) <= _LONGEST_UNBROKEN else match[0]

    return _IN_QUOTES.sub(kept, text)


def bar(value: float | None, longest: float, *, width: int) -> str:
    """Return a bar with a resolution of an eighth of a column.

    >>> bar(1.0, 2.0, width=4), bar(None, 2.0, width=4)
    ('██  ', '    ')
    """
    if value is None or longest <= 0:
        return " " * width
    eighths = round(value / longest * width * 8)
    whole, rest = divmod(min(eighths, width * 8), 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(width)


def _without_details(table: Table) -> list[Column]:
    return [column for column in table.columns if not column.is_detail]


def _panes(columns: Sequence[Column], *, first: int, width: int) -> Iterator[list[Column]]:
    pane: list[Column] = []
    used = first
    for column in columns:
        needed = _BETWEEN_COLUMNS + _width(column)
        if pane and used + needed > width:
            yield pane
            pane, used = [], first
        pane.append(column)
        used += needed
    yield pane


def _width(column: Column) -> int:
    """Return the minimum width of a column, without the space beside it."""
    rows = (*column.title.split("\n"), *(text.plain for text in _texts(column)))
    width = max(map(cell_len, rows))
    return min(width, _NARROWEST_TEXT) if column.is_long else width


def _with_folded_title(column: Column) -> Column:
    """Fold a title that is wider than the cells, such as the name of a tokenizer, into several rows."""
    widest = max((cell_len(text.plain) for text in _texts(column)), default=0)
    rows = folded_to(Line(_with_breaks(Text(column.title))), max(widest, _WIDEST_TITLE))
    return replace(column, title="\n".join(row.plain for row in rows))


def _with_breaks(name: Text) -> Text:
    """Let a name be broken after its separators, so that it is broken inside a word only if a word is too long."""
    places = [match.start() for match in _INSIDE_NAME.finditer(name.plain)]
    return Text(_BREAKABLE).join(name.divide(places)) if places else name


def _texts(column: Column) -> Iterator[Text]:
    """Yield the cells of a column; if the best is marked, others have a space or a mark of their own."""
    for cell in column.cells:
        if column.has_best and cell.best:
            yield Text(f"{cell.text}{BEST}", style="bold green")
        else:
            has_room = column.has_best and not cell.text.endswith(LOSSY)
            yield Text(f"{cell.text} " if has_room else cell.text, style=cell.style)


def _bars(values: Sequence[float | None], *, width: int, title: str = "") -> Column:
    longest = max((value for value in values if value is not None), default=0.0)
    cells = tuple(Cell(bar(value, longest, width=width), style="cyan") for value in values)
    return Column(title, cells, align="left")


class Line(NamedTuple):
    """A line that wraps with an indentation, or with that of the first characters of its own text."""

    text: Text
    indent: int = 0
    label: int = 0


def folded(line: Line, console: Console) -> list[Text]:
    """Wrap a line to the width of a console."""
    return folded_to(line, console.width)


def print_folded(lines: Iterable[Line], *, console: Console) -> None:
    """Print lines, each wrapped to the width of the console."""
    width = console.width  # asking a terminal for it takes as long as printing a line
    rows = (row for line in lines for row in folded_to(line, width))
    while batch := list(islice(rows, _ROWS_AT_ONCE)):
        console.print(Text("\n").join(batch), soft_wrap=True)


def folded_to(line: Line, width: int) -> list[Text]:
    """Wrap a line; the rows after the first are indented like its text."""
    before, rest = Text(" " * line.indent), line.text
    if line.label:  # a slice of a text takes long
        before, rest = before + rest[: line.label], rest[line.label :]
    indent = before.cell_len
    if indent + rest.cell_len <= width:
        return [before + rest]
    rows = _wrapped(rest, max(width - indent, _NARROWEST))
    return [before + rows[0], *(Text(" " * indent) + row for row in rows[1:])]


def _wrapped(text: Text, width: int) -> list[Text]:
    """Wrap a text at spaces or between tokens, and inside a token only if it is wider than a row."""
    *ends, _ = _row_ends(text, width)
    rows = list(text.divide(ends))  # at once: each slice of a text would copy all of it
    for row in rows:
        row.rstrip()
    return rows


def _row_ends(text: Text, width: int) -> Iterator[int]:
    """Yield the end positions of the rows of a text."""
    plain = text.plain
    kept = [match.span() for match in _IN_QUOTES.finditer(plain) if len(match[0]) <= width]
    ends = {match.end() for match in _BREAKS.finditer(plain)}
    ends |= {place for span in text.spans for place in (span.start, span.end) if _is_between(plain, place)}
    whole = [place for place in sorted(ends) if not any(start < place < stop for start, stop in kept)]
    start = 0
    for place, next_place in pairwise([0, *whole, len(plain)]):
        if not _is_wider(plain, start, next_place, width):
            continue
        if place > start:
            yield place
            start = place
        while _is_wider(plain, start, next_place, width):
            start += len(set_cell_size(_beginning(plain, start, len(plain), width), width).rstrip(" ")) or 1
            yield start
    yield len(plain)


def _is_wider(plain: str, start: int, stop: int, width: int) -> bool:
    """Whether a part of a text is wider than a row, without the spaces at its end."""
    return cell_len(_beginning(plain, start, stop, width).rstrip(" ")) > width


def _beginning(plain: str, start: int, stop: int, width: int) -> str:
    """Return as much of a part of a text as is wider than a row, or all of it; the part may be very long."""
    size = 4 * width
    while start + size < stop and cell_len(plain[start : start + size].rstrip(" ")) <= width:
        size *= 2
    return plain[start : min(start + size, stop)]


def _is_between(plain: str, place: int) -> bool:
    """Whether a position is inside a word, between two tokens with different looks."""
    return 0 < place < len(plain) and plain[place - 1] != " " and plain[place] != " "
