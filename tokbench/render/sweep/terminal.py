"""A sweep for the terminal: the curve, its knee, what a size costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.metrics.catalogue import METRICS
from tokbench.render.figures import bar, shown_figure
from tokbench.render.glyphs import visible
from tokbench.render.layout import Column, plain_table, print_panes, print_table
from tokbench.render.sweep.tables import (
    chosen_points,
    columns_of,
    legend_of_sweep,
    marks_of,
    problems_of,
    recommendation_of,
    subtitle_of,
)

if TYPE_CHECKING:
    from rich.console import Console

    from tokbench.evaluation.sweep import Sweep

_BAR_WIDTH = 16
_COMPRESSION = METRICS["bytes_per_token"]


def render_sweep(sweep: Sweep, *, console: Console) -> None:
    """A line for each size, and what the curve says.

    Args:
        sweep: what was found.
        console: where it goes.
    """
    console.print(Text(subtitle_of(sweep), style="dim"))
    longest = max((point.bytes_per_token or 0.0 for point in sweep.points), default=0.0)
    columns = [
        Column(column.title, tuple(Text(cell) for cell in column.cells)) for column in columns_of(sweep)
    ]
    marks = tuple(Text(", ".join(marks_of(sweep, point)), style="bold") for point in sweep.points)
    columns.insert(2, Column("", marks, justify="left"))
    bars = (bar(point.bytes_per_token, longest, width=_BAR_WIDTH) for point in sweep.points)
    print_panes(
        "entries",
        [Text(f"{point.vocab_size:,}", justify="right") for point in sweep.points],
        columns,
        bars=Column("", tuple(Text(one, style="cyan") for one in bars), justify="left"),
        console=console,
    )
    for line in legend_of_sweep(sweep):
        console.print(Text(line, style="dim"))
    _print_groups(sweep, console=console)
    console.print()
    console.print(Text.assemble(("recommended: ", "bold"), recommendation_of(sweep)))
    for sentence in sweep.mix_summary:
        console.print(Text(visible(sentence)))
    for problem in problems_of(sweep):
        console.print(Text(problem, style="yellow"))


def _print_groups(sweep: Sweep, *, console: Console) -> None:
    """Bytes per token by group at the smallest, the recommended and the largest size.

    By name: a byte is worth more in one script than in another.
    """
    chosen, last = chosen_points(sweep), sweep.points[-1]
    if len(last.groups) < 2:
        return
    table = plain_table("bytes/token", *((f"at {point.vocab_size:,}", "right") for point in chosen))
    for group in sorted(last.groups):
        figures = [point.groups.get(group) for point in chosen]
        table.add_row(Text(visible(group)), *(shown_figure(figure, _COMPRESSION) for figure in figures))
    print_table(table, console=console)
