"""A benchmark in the forms that other programs read: JSON, CSV, Markdown, LaTeX."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from tokbench.render.bench.terminal import legend, problems, rows, titles
from tokbench.render.comparison.exports import latex_table, markdown_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.bench.results import Bench, Figure
    from tokbench.render.comparison.exports import Row

CSV_COLUMNS = (
    *("name", "tokenizer", "peer", "measure", "median", "low", "high", "runs"),
    *("ratio", "ratio_low", "ratio_high"),
)


def as_json(bench: Bench) -> bytes:
    """One document on a line; see `Bench.document`."""
    import orjson

    return orjson.dumps(bench.to_json()) + b"\n"


def as_csv(bench: Bench) -> bytes:
    """A line for each tokenizer and figure."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for entry in bench.entries:
        for name, figure in entry.figures.items():
            writer.writerow([entry.name, entry.tokenizer, entry.peer, name, *_numbers(figure)])
    return text.getvalue().encode()


def as_markdown(bench: Bench) -> bytes:
    """A table, then the machine and what was left out, a line each."""
    table = markdown_table(["", *titles(bench)], list(_rows(bench)))
    notes = "".join(f"\n{line}\n" for line in (*legend(bench), *problems(bench)))
    return table + notes.encode()


def as_latex(bench: Bench) -> bytes:
    """A `tabular`, for the `booktabs` package."""
    return latex_table(["", *titles(bench)], list(_rows(bench)))


def _rows(bench: Bench) -> Iterator[Row]:
    for name, cells in rows(bench):
        yield [(name, False), *cells]


def _numbers(figure: Figure) -> list[float | None]:
    value, ratio = figure.value, figure.ratio
    relative = (None, None, None) if ratio is None else (ratio.median, ratio.low, ratio.high)
    return [value.median, value.low, value.high, value.runs, *relative]
