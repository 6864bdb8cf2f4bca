"""The forms that other programs read: JSON, CSV, and the tables of a result as Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Literal

from tokbench.core.result_json import json_bytes
from tokbench.core.wording import printable
from tokbench.render.table import BEST, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tokbench.render.table import Cell

Form = Literal["terminal", "json", "csv", "markdown", "latex"]
Forms = dict[Form, "Callable[[], bytes]"]
"""What a result looks like in each form but the terminal's."""

_MARKDOWN = r"\`*_{}[]<>()#+!|"
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
    """The export formats of a result, each made on request.

    Args:
        json: the document.
        csv: its rows, the first of them the names of the columns.
        parts: its tables, and sentences as a paragraph each.
    """
    return {
        "json": lambda: json_line(json()),
        "csv": lambda: csv_text(csv()),
        "markdown": lambda: _joined(parts(), markdown_table, _markdown),
        "latex": lambda: _joined(parts(), latex_table, _latex),
    }


def json_line(document: Mapping[str, Any]) -> bytes:
    """A document as one line."""
    return json_bytes(document) + b"\n"


def csv_text(rows: Iterable[Sequence[object]]) -> bytes:
    """Rows as CSV; None is an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return printable(text.getvalue()).encode()


def markdown_table(table: Table) -> str:
    """A table below its caption, where it has one; the best of a column is bold and has a mark."""
    rule = ("---" if column.align == "left" else "---:" for column in table.columns)
    lines = [
        _markdown_row(_markdown(column.title) for column in table.columns),
        _markdown_row(rule),
        *(_markdown_row(map(_markdown_cell, row)) for row in table.rows),
    ]
    caption = f"{_markdown(table.caption)}\n\n" if table.caption else ""
    return caption + "\n".join(lines)


def latex_table(table: Table) -> str:
    """The same as a `tabular`, for the `booktabs` package."""
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
    return rf"{' & '.join(cells)} \\"


def _latex_cell(cell: Cell) -> str:
    return rf"\textbf{{{_latex(cell.text + BEST)}}}" if cell.best else _latex(cell.text)


def _latex(text: str) -> str:
    return text.translate(_LATEX)
