"""Tables that are built once per result, and export forms of results: JSON, CSV, and tables as Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from tokbench.core.result_json import json_bytes
from tokbench.core.wording import printable
from tokbench.render.glyphs import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

NONE = "–"
BEST = "*"
LOSSY = "?"
"""Marks a figure that looks better than it is, because text is lost."""
Order = Literal["ascending", "descending"]
Value = float | str | None


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: the displayed text.
        value: the sort key; None sorts last in either order.
        best: whether it is the best of its column.
        style: style on the terminal, as rich names it.
        listed: if the text is a list of tokens with numbers, these: pages keep them apart, as spaces do on the
            terminal, and isolate right-to-left tokens from the numbers.
    """

    text: str
    value: Value = None
    best: bool = False
    style: str = ""
    listed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A column title and the cells below it.

    Attributes:
        title: the title.
        cells: one cell per row.
        meaning: an explanation of the title in one line.
        name: name in JSON and CSV, if it has one.
        first: the initial sort order.
        align: the alignment of cells.
        has_best: whether its best cell is marked on the terminal.
        is_detail: whether the terminal, which has little room, skips it.
        is_long: whether its cells may be wrapped on the terminal.
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
        """The sort keys of the cells."""
        return tuple(cell.value for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of the same length; the first one has the row titles.

    Attributes:
        caption: the caption.
        columns: at least one column.
        corner: the title of the first column on the terminal, which shows no caption.
        bars: a value per row, which the terminal shows as a bar.
        bars_title: what the bars show, if that is not the column beside them.
        sections: indices of rows that have a space before them.
    """

    caption: str
    columns: tuple[Column, ...]
    corner: str = ""
    bars: tuple[float | None, ...] = ()
    bars_title: str = ""
    sections: frozenset[int] = frozenset()

    @property
    def rows(self) -> list[tuple[Cell, ...]]:
        """The cells of each row."""
        return list(zip(*(column.cells for column in self.columns), strict=True))


def table_of_rows(
    caption: str, heads: Sequence[Column], rows: Iterable[Sequence[Cell]], *, corner: str = ""
) -> Table:
    """Build a table from its rows.

    Args:
        caption: the caption.
        heads: columns without cells.
        rows: rows with a cell per column.
        corner: see `Table`.
    """
    cells = list(zip(*rows, strict=True)) or [()] * len(heads)
    columns = tuple(replace(head, cells=column) for head, column in zip(heads, cells, strict=True))
    return Table(caption, columns, corner=corner)


def text_column(
    title: str, texts: Iterable[str] = (), *, meaning: str = "", style: str = "", is_long: bool = False
) -> Column:
    """Return a column of names or other text."""
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
    """Return a column of values, with a dash for None."""
    cells = tuple(Cell(NONE if value is None else shown(value), value) for value in values)
    return Column(title, cells, meaning=meaning, name=name, first=first)


def known_columns(*columns: Column) -> list[Column]:
    """Return the columns that have a value in some row."""
    return [column for column in columns if any(value is not None for value in column.values)]


def count_column(
    title: str,
    numbers: Iterable[int],
    *,
    meaning: str = "",
    first: Order = "descending",
    is_detail: bool = False,
) -> Column:
    """Return a column of counts."""
    cells = tuple(count_cell(number) for number in numbers)
    return Column(title, cells, meaning=meaning, first=first, is_detail=is_detail)


def text_cell(text: str, *, style: str = "") -> Cell:
    """Return a cell with a name or other text."""
    return Cell(visible(text), visible(text), style=style)


def count_cell(number: int) -> Cell:
    """Return a cell with a count."""
    return Cell(f"{number:,}", number)


Form = Literal["terminal", "json", "csv", "markdown", "latex"]
Forms = dict[Form, "Callable[[], bytes]"]
"""Functions that return a result in each form except the terminal's."""

_MARKDOWN = r"\`*_{}[]<>()#+!|&~"
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "_": r"\_",
        "%": r"\%",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "`": r"\textasciigrave{}",
        "±": r"$\pm$",
        "≈": r"$\approx$",
        "…": r"\ldots{}",
    }
)


def result_forms(
    *,
    json: Callable[[], Mapping[str, Any]],
    csv: Callable[[], Iterable[Sequence[object]]],
    parts: Callable[[], Iterable[Table | str]],
) -> Forms:
    """Return the export forms of a result, each computed on demand.

    Args:
        json: returns the JSON document.
        csv: returns the rows of the CSV file, starting with the header.
        parts: returns the tables and sentences; each sentence becomes a paragraph.
    """
    return {
        "json": lambda: json_bytes(json()) + b"\n",
        "csv": lambda: csv_text(csv()),
        "markdown": lambda: _joined(parts(), markdown_table, _markdown),
        "latex": lambda: _joined(parts(), latex_table, _latex),
    }


def csv_text(rows: Iterable[Sequence[object]]) -> bytes:
    """Write rows as CSV; None becomes an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return printable(text.getvalue()).encode()


def markdown_table(table: Table) -> str:
    """Format a table below its caption; the best cell of a column is bold and has a mark."""
    rule = ("---" if column.align == "left" else "---:" for column in table.columns)
    lines = [
        _markdown_row(_markdown(column.title) for column in table.columns),
        _markdown_row(rule),
        *(_markdown_row(map(_markdown_cell, row)) for row in table.rows),
    ]
    caption = f"{_markdown(table.caption)}\n\n" if table.caption else ""
    return caption + "\n".join(lines)


def latex_table(table: Table) -> str:
    """Format a table as a `tabular` environment for the `booktabs` package."""
    columns = "".join(column.align[0] for column in table.columns)
    lines = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _latex_row(_latex(column.title) for column in table.columns),
        r"\midrule",
        *(_latex_row(map(_latex_cell, row)) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    caption = f"{_latex(table.caption)}\n\n" if table.caption else ""
    return caption + "\n".join(lines)


def _joined(
    parts: Iterable[Table | str], table: Callable[[Table], str], sentence: Callable[[str], str]
) -> bytes:
    paragraphs = (table(part) if isinstance(part, Table) else sentence(part) for part in parts)
    return "\n".join(f"{paragraph}\n" for paragraph in paragraphs).encode()


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: Cell) -> str:
    return f"**{_markdown(cell.text + BEST)}**" if cell.best else _markdown(cell.text)


def _markdown(text: str) -> str:
    return "".join(f"\\{character}" if character in _MARKDOWN else character for character in text)


def _latex_row(cells: Iterable[str]) -> str:
    row = " & ".join(cells)
    # After a row or a rule, LaTeX takes "*" and "[" for its star and argument.
    return rf"{'{}' if row.startswith(('*', '[')) else ''}{row} \\"


def _latex_cell(cell: Cell) -> str:
    return rf"\textbf{{{_latex(cell.text + BEST)}}}" if cell.best else _latex(cell.text)


def _latex(text: str) -> str:
    return text.translate(_LATEX)
