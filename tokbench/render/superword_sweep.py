"""Output of a sweep over starting points of superwords: tables and sentences, shared by all forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.evaluation.holdout import gaps_of
from tokbench.evaluation.superword_sweep import superword_sweep_document
from tokbench.metrics.catalogue import METRICS
from tokbench.render.figures import cost_columns, figure_fields, model_of, shown_change
from tokbench.render.sweep import compression_by_group, figure_column, intervals_of
from tokbench.render.table import Cell, Column, Table, count_column, result_forms, text_column
from tokbench.render.terminal import print_lines, write_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from tokbench.evaluation.superword_sweep import SuperwordSweep
    from tokbench.evaluation.sweep_point import SweepPoint
    from tokbench.render.table import Forms

CSV_COLUMNS = (
    *("superwords", "vocab_size", "group", "bytes_per_token", "low", "high"),
    *("gain", "gain_low", "gain_high", "tokens", "filled", "keeps_text"),
)
_BAR_WIDTH = 16
_COMPRESSION = METRICS["bytes_per_token"]


def render_superword_sweep(sweep: SuperwordSweep, *, console: Console) -> None:
    """Print a line per starting point, the groups, and the meaning of the figures."""
    console.print(Text(subtitle_of(sweep), style="dim"))
    write_table(beginnings_table(sweep), bar_width=_BAR_WIDTH, console=console)
    print_lines(legend_of(sweep), style="dim", console=console)
    by_group = beginnings_by_group(sweep)
    if by_group is not None:
        write_table(by_group, console=console)
    print_lines(gaps_of(sweep.shares), style="yellow", console=console)


def superword_sweep_forms(sweep: SuperwordSweep) -> Forms:
    """Return the forms for other programs."""
    return result_forms(
        json=lambda: superword_sweep_document(sweep), csv=lambda: csv_rows(sweep), parts=lambda: _parts(sweep)
    )


def _parts(sweep: SuperwordSweep) -> Iterator[Table | str]:
    yield beginnings_table(sweep)
    by_group = beginnings_by_group(sweep)
    if by_group is not None:
        yield by_group
    yield from gaps_of(sweep.shares)
    yield subtitle_of(sweep)
    yield from legend_of(sweep)


def beginnings_table(sweep: SuperwordSweep) -> Table:
    """Return a table with a row per starting point, with bars of its compression."""
    found = list(sweep.points.values())
    costs = [point.cost for point in found if point.cost is not None]
    figures = [point.figures[_COMPRESSION.name] for point in found]
    gains = (Cell(shown_change(figure), figure.difference) for figure in figures)
    return Table(
        "Beginnings of superwords",
        (
            Column(
                "superwords",
                tuple(Cell(f"{size:,}", size) for size in sweep.points),
                first="ascending",
                meaning="tokens after which merges cross spaces",
            ),
            figure_column(_COMPRESSION.title, figures),
            Column("gain", tuple(gains), meaning="bytes per token over those of plain BPE"),
            text_column(
                "", (", ".join(_marks(sweep, *point)) for point in sweep.points.items()), style="bold"
            ),
            count_column("tokens", (point.tokens for point in found), meaning="tokens of the held-out text"),
            *(cost_columns(costs) if len(costs) == len(found) else ()),
        ),
        corner="superwords",
        bars=tuple(point.bytes_per_token for point in found),
        bars_title=_COMPRESSION.title,
    )


def beginnings_by_group(sweep: SuperwordSweep) -> Table | None:
    """Return a table with a row per group: the first and the best starting point, and plain BPE. None for one group."""
    first, *_, plain = sweep.points
    fewest = min(sweep.points, key=lambda size: sweep.points[size].tokens)
    return compression_by_group(
        {f"after {size:,}": point for size, point in sweep.points.items() if size in (first, fewest, plain)}
    )


def _marks(sweep: SuperwordSweep, superwords: int, point: SweepPoint) -> Iterator[str]:
    if superwords == sweep.vocab_size:
        yield "plain"
    if not point.is_filled:
        yield "not filled"
    if not point.keeps_text:
        yield "loses text"


def subtitle_of(sweep: SuperwordSweep) -> str:
    """Describe what was trained, and what it was evaluated on."""
    count = len(sweep.points)
    return (
        f"{sweep.backend} of {sweep.vocab_size:,} tokens: {count} training{'s' * (count != 1)} on "
        f"{sweep.training_bytes:,} bytes, evaluated on {sweep.num_bytes:,} held-out bytes in {sweep.parts}"
    )


def legend_of(sweep: SuperwordSweep) -> Iterator[str]:
    """Yield lines that explain intervals and column titles."""
    yield intervals_of(sweep)
    yield "superwords: tokens after which merges cross spaces; gain: over plain BPE, where none does"
    model = model_of(sweep.model)
    if model is not None:
        yield model


def csv_rows(sweep: SuperwordSweep) -> Iterator[Sequence[object]]:
    """Yield the header and a row per starting point and group; the group of all text is the empty string."""
    costs = cost_columns([point.cost for point in sweep.points.values() if point.cost is not None])
    head = (*CSV_COLUMNS, *(column.name for column in costs))
    yield head
    for place, (superwords, point) in enumerate(sweep.points.items()):
        yield (
            *(superwords, point.vocab_size, ""),
            *figure_fields(point.figures[_COMPRESSION.name]),
            *(point.tokens, int(point.is_filled), int(point.keeps_text)),
            *(column.values[place] for column in costs),
        )
        for group, figure in point.groups.items():
            row = (superwords, point.vocab_size, group, *figure_fields(figure))
            yield (*row, *(None for _ in head[len(row) :]))
