"""A sweep for the terminal and for other programs: the curve, its knee, what a size costs."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tokbench.evaluation.costs import cost_document
from tokbench.evaluation.documents import figure_document, mix_document
from tokbench.evaluation.recommending import METHOD
from tokbench.evaluation.sweeping import SWEPT
from tokbench.metrics.catalogue import METRICS
from tokbench.render.costs import cost_columns, model_of
from tokbench.render.exports import latex_notes, latex_table, markdown_notes, markdown_table
from tokbench.render.figures import bar, counted, drawn_from, names_of, shown, with_interval
from tokbench.render.layout import Column, plain_table, print_panes, print_table
from tokbench.render.tables import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from tokbench.evaluation.sweeping import Sweep, SweepPoint
    from tokbench.metrics.catalogue import Metric
    from tokbench.render.exports import Form, Row

_BAR_WIDTH = 16
_GROUPS_DRAWN = 7
_NONE = "–"
_FIGURES = [METRICS[name] for name in SWEPT]
CSV_COLUMNS = (
    *("vocab_size", "group", "bytes_per_token", "low", "high", "gain", "gain_low", "gain_high", "tokens"),
    *(
        "character_coverage",
        "unk_rate",
        "character_error_rate",
        "filled",
        "keeps_text",
        "knee",
        "recommended",
    ),
)


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
    for sentence in sweep.mix_verdict:
        console.print(Text(visible(sentence)))
    for problem in problems_of(sweep):
        console.print(Text(problem, style="yellow"))


def subtitle_of(sweep: Sweep) -> str:
    """What was trained, and on what it was judged."""
    runs = "one training" if sweep.trainings == 1 else f"{sweep.trainings} trainings"
    return (
        f"{sweep.backend}: {runs} on {sweep.training_bytes:,} bytes, "
        f"judged on {sweep.num_bytes:,} held-out bytes in {counted(sweep.documents, 'document')}"
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
        _NONE
        if figure is None or figure.value is None
        else with_interval(
            shown(figure.value, metric), figure.value, figure.interval, scale=100 if metric.share else 1
        )
        if metric is _FIGURES[0]
        else shown(figure.value, metric)
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
        _NONE
        if figure.value is None
        else with_interval(f"{figure.value:.4f}", figure.value, figure.interval, digits=4)
        for figure in figures
    )
    yield SweepColumn("tokens/byte", f"tokens_per_byte: of a mix of {sweep.mix}", tuple(cells), values)
    price = sweep.model.price
    if price is not None:
        costs = tuple(None if value is None else value * price for value in values)
        shown_costs = tuple(_NONE if cost is None else f"{cost:,.4g}" for cost in costs)
        yield SweepColumn("price/MB", "price_per_million_bytes: of the mix", shown_costs, costs)


def _gain(point: SweepPoint) -> str:
    figure = point.gain
    if figure is None or figure.difference is None:
        return _NONE
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
    """What the text was not enough for."""
    if sweep.missing:
        sizes = ", ".join(f"{size:,}" for size in sweep.missing)
        yield f"the text cannot fill {sizes} entries"


def _print_groups(sweep: Sweep, *, console: Console) -> None:
    """Bytes per token by group at the smallest, the recommended and the largest size.

    By name: a byte is worth more in one script than in another.
    """
    chosen, last = chosen_points(sweep), sweep.points[-1]
    if len(last.groups) < 2:
        return
    table = plain_table("bytes/token", *((f"at {point.vocab_size:,}", "right") for point in chosen))
    for group in sorted(last.groups):
        values = [point.groups.get(group) for point in chosen]
        table.add_row(Text(visible(group)), *(_NONE if value is None else f"{value:.3f}" for value in values))
    print_table(table, console=console)


def chosen_points(sweep: Sweep) -> list[SweepPoint]:
    """The smallest size, the recommended one and the largest, each once."""
    first, last = sweep.points[0], sweep.points[-1]
    return [
        point
        for point in sweep.points
        if point is first or point is last or point.vocab_size == sweep.recommended
    ]


# --- for other programs ---------------------------------------------------------------------------


def sweep_document(sweep: Sweep) -> dict[str, Any]:
    """As `--json` prints it: schema tokbench.sweep/1."""
    return {
        "schema": "tokbench.sweep/1",
        "backend": sweep.backend,
        "trainings": sweep.trainings,
        "corpus": {
            "documents": sweep.documents,
            "bytes": sweep.num_bytes,
            "training_bytes": sweep.training_bytes,
            "units": dict(sweep.units),
        },
        "points": [
            {
                "vocab_size": point.vocab_size,
                "tokens": point.tokens,
                "bytes_per_token": point.bytes_per_token,
                "filled": point.is_filled,
                "keeps_text": point.keeps_text,
                "metrics": {name: figure_document(figure) for name, figure in point.figures.items()},
                "embedding_parameters": None
                if sweep.model.dim is None
                else point.vocab_size * sweep.model.dim,
                "cost": None
                if point.cost is None or not point.cost.is_known
                else cost_document(point.cost),
                "mix": None if point.mixed is None else figure_document(point.mixed.tokens_per_byte),
                "groups": dict(point.groups),
            }
            for point in sweep.points
        ],
        "knee": sweep.knee,
        "method": METHOD,
        "recommended": sweep.recommended,
        "reason": sweep.reason,
        "missing": list(sweep.missing),
        "interval_gap": sweep.interval_gap,
        "mix": None if sweep.mix is None else mix_document(sweep.mix, sweep.mix_verdict),
    }


def sweep_csv(sweep: Sweep) -> bytes:
    """A line for each size and group; all text is the group without a name, and has more figures."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    costs = list(cost_columns([point.cost for point in sweep.points if point.cost is not None]))
    mixed = (
        ("tokens_per_byte", "tokens_per_byte_low", "tokens_per_byte_high") if sweep.mix is not None else ()
    )
    writer.writerow((*CSV_COLUMNS, *(column.name for column in costs), *mixed))
    for place, point in enumerate(sweep.points):
        gain = point.gain
        writer.writerow(
            (
                point.vocab_size,
                "",
                point.bytes_per_token,
                *((gain and gain.interval) or (None, None)),
                None if gain is None else gain.difference,
                *((gain and gain.difference_interval) or (None, None)),
                point.tokens,
                *(figure and figure.value for figure in map(point.figures.get, SWEPT[1:])),
                int(point.is_filled),
                int(point.keeps_text),
                int(point.vocab_size == sweep.knee),
                int(point.vocab_size == sweep.recommended),
                *(column.values[place] for column in costs),
                *_csv_mix(point),
            )
        )
        empty = [None] * (len(CSV_COLUMNS) + len(costs) + len(mixed) - 3)
        writer.writerows((point.vocab_size, group, value, *empty) for group, value in point.groups.items())
    return text.getvalue().encode()


def _csv_mix(point: SweepPoint) -> tuple[float | None, ...]:
    if point.mixed is None:
        return ()
    figure = point.mixed.tokens_per_byte
    return (figure.value, *(figure.interval or (None, None)))


def sweep_forms(sweep: Sweep) -> dict[Form, Callable[[], bytes]]:
    """A sweep in the forms that other programs read."""
    return {
        "json": lambda: _json(sweep),
        "csv": lambda: sweep_csv(sweep),
        "markdown": lambda: b"\n".join(
            [*(markdown_table(*table) for table in _tables(sweep)), markdown_notes(_notes(sweep))]
        ),
        "latex": lambda: b"\n".join(
            [*(latex_table(*table) for table in _tables(sweep)), latex_notes(_notes(sweep))]
        ),
    }


def _json(sweep: Sweep) -> bytes:
    import orjson

    return orjson.dumps(sweep_document(sweep)) + b"\n"


def _tables(sweep: Sweep) -> Iterator[tuple[list[str], list[Row]]]:
    """For documents: the sizes, the recommended one marked, and the groups at some of them."""
    columns = columns_of(sweep)
    yield (
        ["entries", *(column.title for column in columns), ""],
        [
            [
                (cell, point.vocab_size == sweep.recommended)
                for cell in (
                    f"{point.vocab_size:,}",
                    *(column.cells[place] for column in columns),
                    ", ".join(marks_of(sweep, point)),
                )
            ]
            for place, point in enumerate(sweep.points)
        ],
    )
    chosen, groups = chosen_points(sweep), sorted(sweep.points[-1].groups)
    if len(groups) > 1:
        yield (
            ["bytes/token", *(f"at {point.vocab_size:,}" for point in chosen)],
            [
                [
                    (group, False),
                    *(
                        (_NONE if value is None else f"{value:.3f}", False)
                        for value in (point.groups.get(group) for point in chosen)
                    ),
                ]
                for group in groups
            ],
        )


def _notes(sweep: Sweep) -> Iterator[str]:
    yield f"recommended: {recommendation_of(sweep)}"
    yield from sweep.mix_verdict
    yield from problems_of(sweep)
    yield subtitle_of(sweep)
    yield from legend_of_sweep(sweep)


def curve_of(sweep: Sweep) -> list[tuple[int, float | None, str]]:
    """Size, bytes per token and group, for a chart: all text, and where there are few groups each of them."""
    rows: list[tuple[int, float | None, str]] = [
        (point.vocab_size, point.bytes_per_token, "all text") for point in sweep.points
    ]
    groups = sweep.points[-1].groups
    if 1 < len(groups) <= _GROUPS_DRAWN:
        rows += [
            (point.vocab_size, point.groups.get(group), group) for group in groups for point in sweep.points
        ]
    return rows
