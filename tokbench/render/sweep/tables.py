"""A sweep in columns, tables and sentences, the same in every form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.evaluation.holdout import gaps_of
from tokbench.evaluation.recommendation import METHOD
from tokbench.evaluation.sentences import significant
from tokbench.evaluation.sweep import SWEPT
from tokbench.metrics.catalogue import METRICS
from tokbench.render.cells import NONE, Cell, Column, Table, name_cell
from tokbench.render.comparison.costs import cost_columns, model_of
from tokbench.render.figures import drawn_from, named_gaps, names_of, shown, shown_figure, with_interval
from tokbench.render.glyphs import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.evaluation.sweep import Sweep
    from tokbench.evaluation.sweep_point import SweepPoint
    from tokbench.metrics.catalogue import Metric

_GROUPS_DRAWN = 7
_FIGURES = [METRICS[name] for name in SWEPT]


@dataclass(frozen=True, slots=True)
class SweepColumn:
    """A figure of every size.

    Attributes:
        title: the head.
        meaning: more of it.
        cells: as they are shown.
        values: what they are sorted by.
    """

    title: str
    meaning: str
    cells: tuple[str, ...]
    values: tuple[float | None, ...]


def subtitle_of(sweep: Sweep) -> str:
    """What was trained, and on what it was evaluated."""
    runs = "one training" if sweep.trainings == 1 else f"{sweep.trainings} trainings"
    return (
        f"{sweep.backend}: {runs} on {sweep.training_bytes:,} bytes, "
        f"evaluated on {sweep.num_bytes:,} held-out bytes in {sweep.parts}"
    )


def columns_of(sweep: Sweep) -> list[SweepColumn]:
    """The figures of every size, bytes per token first."""
    points = sweep.points
    first, *others = _FIGURES
    columns = [
        _figure_column(sweep, first),
        SweepColumn(
            "gain",
            f"bytes per token{'' if sweep.mix is None else ' of the mix'} over those of the size before",
            tuple(_gain(point) for point in points),
            tuple(None if point.gain is None else point.gain.difference for point in points),
        ),
        SweepColumn(
            "tokens",
            "tokens of the held-out text",
            tuple(f"{point.tokens:,}" for point in points),
            tuple(point.tokens for point in points),
        ),
        *(_figure_column(sweep, metric) for metric in others),
        *_mix_columns(sweep),
    ]
    costs = [point.cost for point in points if point.cost is not None]
    columns += [
        SweepColumn(column.title, column.meaning, column.cells, column.values)
        for column in (cost_columns(costs) if len(costs) == len(points) else ())
    ]
    return columns


def _figure_column(sweep: Sweep, metric: Metric) -> SweepColumn:
    figures = [point.figures.get(metric.name) for point in sweep.points]
    cells = (
        shown_figure(figure, metric)
        if metric is _FIGURES[0]
        else shown(None if figure is None else figure.value, metric)
        for figure in figures
    )
    values = tuple(None if figure is None else figure.value for figure in figures)
    return SweepColumn(metric.title, metric.meaning, tuple(cells), values)


def _mix_columns(sweep: Sweep) -> Iterator[SweepColumn]:
    """What the mix costs at every size; nothing where none was asked for."""
    figures = [point.mixed.tokens_per_byte for point in sweep.points if point.mixed is not None]
    if not figures:
        return
    values = tuple(figure.value for figure in figures)
    cells = (
        NONE
        if figure.value is None
        else with_interval(f"{figure.value:.4f}", figure.value, figure.interval, digits=4)
        for figure in figures
    )
    yield SweepColumn("tokens/byte", f"tokens_per_byte: of a mix of {sweep.mix}", tuple(cells), values)
    price = sweep.model.price
    if price is not None:
        costs = tuple(None if value is None else value * price for value in values)
        shown_costs = tuple(NONE if cost is None else significant(cost) for cost in costs)
        yield SweepColumn("price/MB", "price_per_million_bytes: of the mix", shown_costs, costs)


def _gain(point: SweepPoint) -> str:
    figure = point.gain
    if figure is None or figure.difference is None:
        return NONE
    text = f"{figure.difference * 100:+.1f} %"
    sign = "≈ " if figure.is_distinguishable is False else ""
    return sign + with_interval(text, figure.difference, figure.difference_interval, scale=100, digits=1)


def marks_of(sweep: Sweep, point: SweepPoint) -> Iterator[str]:
    """What is to be said of a size."""
    if point.vocab_size == sweep.knee:
        yield "knee"
    if point.vocab_size == sweep.recommended:
        yield "recommended"
    if not point.is_filled:
        yield "not filled"
    if not point.keeps_text:
        yield "loses text"


def legend_of_sweep(sweep: Sweep) -> Iterator[str]:
    """What intervals, marks and heads mean."""
    yield (
        sweep.interval_gap
        or f"± 95 % (paired bootstrap over {drawn_from(sweep.units)}), ≈ not distinguishable"
        f"{named_gaps(sweep.group_interval_gaps)}"
    )
    yield METHOD
    yield names_of(_FIGURES)
    if sweep.mix is not None:
        yield f"gain, tokens/byte, knee and recommendation: of a mix of {visible(str(sweep.mix))}, by bytes"
    model = model_of(sweep.model)
    if model is not None:
        yield model


def recommendation_of(sweep: Sweep) -> str:
    """The recommended size and why, in a sentence."""
    size = "none" if sweep.recommended is None else f"{sweep.recommended:,} entries"
    return f"{size}: {sweep.reason}"


def problems_of(sweep: Sweep) -> Iterator[str]:
    """What the text was not enough for, and what is held out of some groups that is no tenth."""
    yield from gaps_of(sweep.shares)
    if sweep.missing:
        sizes = ", ".join(f"{size:,}" for size in sweep.missing)
        yield f"the text cannot fill {sizes} entries"


def chosen_points(sweep: Sweep) -> list[SweepPoint]:
    """The smallest size, the recommended one and the largest, each once."""
    first, last = sweep.points[0], sweep.points[-1]
    return [
        point
        for point in sweep.points
        if point is first or point is last or point.vocab_size == sweep.recommended
    ]


def sizes_table(sweep: Sweep) -> Table:
    """A row for each size, the recommended one marked."""
    columns = columns_of(sweep)
    return Table(
        caption="Vocabulary sizes",
        columns=(
            Column("entries", first="ascending"),
            *(Column(column.title, column.meaning) for column in columns),
            Column("", first="ascending"),
        ),
        rows=tuple(
            (
                Cell(f"{point.vocab_size:,}", point.vocab_size, best=point.vocab_size == sweep.recommended),
                *(Cell(column.cells[place], column.values[place]) for column in columns),
                name_cell(", ".join(marks_of(sweep, point))),
            )
            for place, point in enumerate(sweep.points)
        ),
    )


def sizes_by_group(sweep: Sweep) -> Table | None:
    """A row for each group: bytes per token at some sizes; None for one group."""
    chosen, groups = chosen_points(sweep), sorted(sweep.points[-1].groups)
    if len(groups) < 2:
        return None
    return Table(
        caption="Bytes per token by group",
        columns=(
            Column("bytes/token", first="ascending"),
            *(Column(f"at {point.vocab_size:,}") for point in chosen),
        ),
        rows=tuple(
            (
                name_cell(group),
                *(
                    Cell(shown_figure(figure, _FIGURES[0]), None if figure is None else figure.value)
                    for figure in (point.groups.get(group) for point in chosen)
                ),
            )
            for group in groups
        ),
    )


def sentences_of(sweep: Sweep) -> Iterator[str]:
    """What the sweep comes to."""
    yield f"recommended: {recommendation_of(sweep)}"
    yield from sweep.mix_summary
    yield from problems_of(sweep)


def curve_of(sweep: Sweep) -> list[tuple[int, float | None, str]]:
    """Size, bytes per token and group, for a chart: all text, and where there are few groups each of them."""
    rows: list[tuple[int, float | None, str]] = [
        (point.vocab_size, point.bytes_per_token, "all text") for point in sweep.points
    ]
    groups = sweep.points[-1].groups
    if 1 < len(groups) <= _GROUPS_DRAWN:
        rows += [
            (point.vocab_size, point.groups[group].value, group) for group in groups for point in sweep.points
        ]
    return rows
