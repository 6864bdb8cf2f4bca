"""What each figure is, for the terminal and for other programs."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.metrics.explanations import Explained, explained
from tokbench.render.comparison.exports import latex_table, markdown_table
from tokbench.render.layout import plain_table, print_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from tokbench.render.comparison.exports import Form, Row

_HEADS = ("name", "head", "unit", "better", "meaning")
_WIDE = 120
"""Columns of a terminal from which on a figure takes one line."""
_CHOSEN = "--metrics takes these, `all` for all of them"
_BESIDE = "beside them, where there is something to tell"


def render_metric_help(*, console: Console) -> None:
    """Every figure: its name, the head of its column, its unit, which way is better, what it means."""
    for title, is_chosen in ((_CHOSEN, True), (_BESIDE, False)):
        console.print(Text(title, style="bold"))
        found = [one for one in explained() if one.is_chosen == is_chosen]
        if console.width >= _WIDE:
            _print_lines(found, console=console)
        else:
            _print_pairs(found, console=console)


def _print_lines(found: list[Explained], *, console: Console) -> None:
    table = plain_table(*((head, "left") for head in _HEADS[:-1]), _HEADS[-1])
    for one in found:
        table.add_row(*(Text(cell) for cell in _cells(one)))
    print_table(table, console=console)


def _print_pairs(found: list[Explained], *, console: Console) -> None:
    """The name on a line of its own, where a terminal is narrow."""
    for one in found:
        name, head, unit, better, meaning = _cells(one)
        console.print(Text.assemble((name, "bold"), f" ({head}; {unit}; better: {better})"))
        console.print(Text(f"    {meaning}", overflow="fold"))
    console.print()


def _cells(one: Explained) -> tuple[str, str, str, str, str]:
    return one.name, one.title, one.unit, one.direction, one.meaning


def metric_help_forms() -> dict[Form, Callable[[], bytes]]:
    """The same in the forms that other programs read."""
    rows: list[Row] = [[(cell, False) for cell in _cells(one)] for one in explained()]
    return {
        "json": _json,
        "csv": _csv,
        "markdown": lambda: markdown_table(_HEADS, rows, texts=range(len(_HEADS))),
        "latex": lambda: latex_table(_HEADS, rows, texts=range(len(_HEADS))),
    }


def _json() -> bytes:
    import orjson

    metrics = [dict(zip(_HEADS, _cells(one), strict=True)) for one in explained()]
    return orjson.dumps({"schema": "tokbench.metrics/1", "metrics": metrics}) + b"\n"


def _csv() -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADS)
    writer.writerows(map(_cells, explained()))
    return text.getvalue().encode()
