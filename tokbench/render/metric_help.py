"""What each figure is, for the terminal and for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from tokbench.metrics.explanations import Explained, explained
from tokbench.render.exports import result_forms
from tokbench.render.table import Table, text_column
from tokbench.render.terminal import write_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from tokbench.render.exports import Forms

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
            write_table(_table(found), console=console)
        else:
            _print_pairs(found, console=console)


def metric_help_forms() -> Forms:
    """The same in the forms that other programs read."""
    found = explained()
    return result_forms(
        json=lambda: _document(found),
        csv=lambda: (_HEADS, *map(_cells, found)),
        parts=lambda: (_table(found),),
    )


def _table(found: Sequence[Explained]) -> Table:
    columns = zip(*map(_cells, found), strict=True)
    return Table(
        "",
        tuple(
            text_column(head, cells, is_long=head == _HEADS[-1])
            for head, cells in zip(_HEADS, columns, strict=True)
        ),
        corner=_HEADS[0],
    )


def _print_pairs(found: Sequence[Explained], *, console: Console) -> None:
    """The name on a line of its own, where a terminal is narrow."""
    for one in found:
        name, head, unit, better, meaning = _cells(one)
        console.print(Text.assemble((name, "bold"), f" ({head}; {unit}; better: {better})"))
        console.print(Text(f"    {meaning}", overflow="fold"))
    console.print()


def _cells(one: Explained) -> tuple[str, str, str, str, str]:
    return one.name, one.title, one.unit, one.direction, one.meaning


def _document(found: Sequence[Explained]) -> dict[str, Any]:
    metrics = [dict(zip(_HEADS, _cells(one), strict=True)) for one in found]
    return {"schema": "tokbench.metrics/1", "metrics": metrics}
