"""Export forms of results: JSON, CSV, and tables as Markdown and LaTeX."""

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
