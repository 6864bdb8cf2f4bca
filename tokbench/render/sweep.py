"""Output of a sweep: tables and sentences, for the terminal and in forms for other programs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.evaluation.holdout import gaps_of
from tokbench.evaluation.sweep import SWEPT, sweep_document
from tokbench.evaluation.sweep_point import METHOD
from tokbench.metrics.catalogue import METRICS
from tokbench.render.comparison_tables import price_column, tokens_per_byte_column
from tokbench.render.figures import (
    cost_columns,
    drawn_from,
    figure_fields,
    model_of,
    named_gaps,
    names_of,
    shown,
    shown_change,
    shown_figure,
)
from tokbench.render.glyphs import visible
from tokbench.render.table import NONE, Cell, Column, Table, count_column, result_forms, text_column
from tokbench.render.terminal import print_lines, write_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from tokbench.evaluation.figures import Figure
    from tokbench.evaluation.sweep import Sweep
    from tokbench.evaluation.sweep_point import SweepPoint, SweptText
    from tokbench.metrics.metric import Metric
    from tokbench.render.table import Forms

CSV_COLUMNS = (
    *("vocab_size", "group", "bytes_per_token", "low", "high", "gain", "gain_low", "gain_high", "tokens"),
    *(*SWEPT[1:], "filled", "keeps_text", "knee", "recommended"),
)

_BAR_WIDTH = 16
_GROUPS_DRAWN = 7
_COMPRESSION, *_OTHER_FIGURES = (METRICS[name] for name in SWEPT)


def render_sweep(sweep: Sweep, *, console: Console) -> None:
    """Print a line per size, the groups at some sizes, and the recommendation."""
    console.print(Text(subtitle_of(sweep), style="dim"))
    write_table(sizes_table(sweep), bar_width=_BAR_WIDTH, console=console)
    print_lines(legend_of_sweep(sweep), style="dim", console=console)
    by_group = sizes_by_group(sweep)
    if by_group is not None:
        write_table(by_group, console=console)
    console.print()
    console.print(Text.assemble(("recommended: ", "bold"), recommendation_of(sweep)))
    print_lines(sweep.mix_summary, console=console)
    print_lines(problems_of(sweep), style="yellow", console=console)


def sweep_forms(sweep: Sweep) -> Forms:
    """Return the forms of a sweep for other programs."""
    return result_forms(
        json=lambda: sweep_document(sweep), csv=lambda: csv_rows(sweep), parts=lambda: sweep_parts(sweep)
    )


def sweep_parts(sweep: Sweep) -> Iterator[Table | str]:
    """Yield the tables of a sweep, then its sentences."""
    yield sizes_table(sweep)
    by_group = sizes_by_group(sweep)
    if by_group is not None:
        yield by_group
    yield from sentences_of(sweep)
    yield subtitle_of(sweep)
    yield from legend_of_sweep(sweep)


# --- tables -----------------------------------------------------------------------------------


def sizes_table(sweep: Sweep) -> Table:
    """Return a table with a row per size, the recommended one marked, with bars of its compression."""
    points = sweep.points
    sizes = (
        Cell(f"{point.vocab_size:,}", point.vocab_size, best=point.vocab_size == sweep.recommended)
        for point in points
    )
    costs = [point.cost for point in points if point.cost is not None]
    gains = (
        Cell(NONE) if point.gain is None else Cell(shown_change(point.gain), point.gain.difference)
        for point in points
    )
    return Table(
        "Vocabulary sizes",
        (
            Column("vocab", tuple(sizes), first="ascending"),
            _figure_column(sweep, _COMPRESSION),
            Column(
                "gain",
                tuple(gains),
                meaning=f"bytes per token{'' if sweep.mix is None else ' of the mix'} over those of the size before",
            ),
            text_column("", (", ".join(marks_of(sweep, point)) for point in points), style="bold"),
            count_column("tokens", (point.tokens for point in points), meaning="tokens of the held-out text"),
            *(_figure_column(sweep, metric) for metric in _OTHER_FIGURES),
            *_mix_columns(sweep),
            *(cost_columns(costs) if len(costs) == len(points) else ()),
        ),
        corner="vocab",
        bars=tuple(point.bytes_per_token for point in points),
        bars_title=_COMPRESSION.title,
    )


def sizes_by_group(sweep: Sweep) -> Table | None:
    """Return a table with a row per group: bytes per token at the smallest, the recommended and the largest size.

    The groups are sorted by name, as a byte is worth more in one script than in another. None for one group.
    """
    return compression_by_group({f"at {point.vocab_size:,}": point for point in _chosen_points(sweep)})


def compression_by_group(points: Mapping[str, SweepPoint]) -> Table | None:
    """Return a table with a row per group of the last point: bytes per token at each point. None for one group."""
    *_, last = points.values()
    groups = sorted(last.groups)
    if len(groups) < 2:
        return None
    return Table(
        "Bytes per token by group",
        (
            text_column("bytes/token", groups),
            *(
                figure_column(title, [point.groups.get(group) for group in groups])
                for title, point in points.items()
            ),
        ),
        corner="bytes/token",
    )


def _figure_column(sweep: Sweep, metric: Metric) -> Column:
    figures = [point.figures.get(metric.name) for point in sweep.points]
    return replace(figure_column(metric.title, figures, metric), meaning=metric.meaning)


def figure_column(title: str, figures: Sequence[Figure | None], metric: Metric = _COMPRESSION) -> Column:
    """Return a column of figures of a metric; those of compression have intervals."""
    values = [None if figure is None else figure.value for figure in figures]
    texts = (
        shown_figure(figure, metric) if metric is _COMPRESSION else shown(value, metric)
        for figure, value in zip(figures, values, strict=True)
    )
    return Column(title, tuple(map(Cell, texts, values)))


def _mix_columns(sweep: Sweep) -> Iterator[Column]:
    """Yield the columns of the costs of the mix at every size; none without a mix."""
    figures = [point.mixed.tokens_per_byte for point in sweep.points if point.mixed is not None]
    if not figures:
        return
    yield tokens_per_byte_column(figures, meaning=f"of a mix of {sweep.mix}")
    if sweep.model.price is not None:
        yield price_column(figures, sweep.model.price, meaning="of the mix")


def marks_of(sweep: Sweep, point: SweepPoint) -> Iterator[str]:
    """Yield the marks of a size: knee, recommended, not filled, loses text."""
    if point.vocab_size == sweep.knee:
        yield "knee"
    if point.vocab_size == sweep.recommended:
        yield "recommended"
    if not point.is_filled:
        yield "not filled"
    if not point.keeps_text:
        yield "loses text"


def _chosen_points(sweep: Sweep) -> list[SweepPoint]:
    """Return the smallest, the recommended and the largest size, without duplicates."""
    first, last = sweep.points[0], sweep.points[-1]
    return [
        point
        for point in sweep.points
        if point is first or point is last or point.vocab_size == sweep.recommended
    ]


def curve_of(sweep: Sweep) -> list[tuple[int, float | None, str]]:
    """Return size, bytes per token and group for a chart: all text, and each group if there are few."""
    return curve_through({point.vocab_size: point for point in sweep.points})


def curve_through(points: Mapping[int, SweepPoint]) -> list[tuple[int, float | None, str]]:
    """Return the same for points at arbitrary positions."""
    rows = [(place, point.bytes_per_token, "all text") for place, point in points.items()]
    *_, last = points.values()
    groups = last.groups
    if 1 < len(groups) <= _GROUPS_DRAWN:
        rows += [
            (place, point.groups[group].value, group) for group in groups for place, point in points.items()
        ]
    return rows


# --- sentences --------------------------------------------------------------------------------


def subtitle_of(sweep: Sweep) -> str:
    """Describe what was trained, and what it was evaluated on."""
    runs = "one training" if sweep.trainings == 1 else f"{sweep.trainings} trainings"
    return (
        f"{sweep.backend}: {runs} on {sweep.training_bytes:,} bytes, "
        f"evaluated on {sweep.num_bytes:,} held-out bytes in {sweep.parts}"
    )


def intervals_of(sweep: SweptText) -> str:
    """Explain the intervals, or why there are none."""
    return (
        sweep.interval_gap
        or f"± 95 % (paired bootstrap over {drawn_from(sweep.units)}), ≈ no significant difference"
        f"{named_gaps(sweep.group_interval_gaps)}"
    )


def legend_of_sweep(sweep: Sweep) -> Iterator[str]:
    """Yield lines that explain intervals, marks and column titles."""
    yield intervals_of(sweep)
    yield METHOD
    yield names_of((_COMPRESSION, *_OTHER_FIGURES))
    if sweep.mix is not None:
        yield f"gain, tokens/byte, knee and recommendation: of a mix of {visible(str(sweep.mix))}, by bytes"
    model = model_of(sweep.model)
    if model is not None:
        yield model


def recommendation_of(sweep: Sweep) -> str:
    """Describe the recommended size and the reason in a sentence."""
    size = "none" if sweep.recommended is None else f"{sweep.recommended:,} tokens"
    return f"{size}: {sweep.reason}"


def problems_of(sweep: Sweep) -> Iterator[str]:
    """Yield the sizes that the text cannot fill, and groups with more or less than a tenth held out."""
    yield from gaps_of(sweep.shares)
    if sweep.missing:
        sizes = ", ".join(f"{size:,}" for size in sweep.missing)
        yield f"the text is too short for {sizes} tokens"


def sentences_of(sweep: Sweep) -> Iterator[str]:
    """Yield the recommendation and its limitations."""
    yield f"recommended: {recommendation_of(sweep)}"
    yield from sweep.mix_summary
    yield from problems_of(sweep)


# --- CSV --------------------------------------------------------------------------------------


def csv_rows(sweep: Sweep) -> Iterator[Sequence[object]]:
    """Yield the header and a row per size and group; all text has the empty group name, and more figures."""
    costs = cost_columns([point.cost for point in sweep.points if point.cost is not None])
    mixed = (
        ("tokens_per_byte", "tokens_per_byte_low", "tokens_per_byte_high") if sweep.mix is not None else ()
    )
    head = (*CSV_COLUMNS, *(column.name for column in costs), *mixed)
    yield head
    for place, point in enumerate(sweep.points):
        yield (
            point.vocab_size,
            "",
            point.bytes_per_token,
            *figure_fields(point.gain)[1:],
            point.tokens,
            *(figure and figure.value for figure in map(point.figures.get, SWEPT[1:])),
            int(point.is_filled),
            int(point.keeps_text),
            int(point.vocab_size == sweep.knee),
            int(point.vocab_size == sweep.recommended),
            *(column.values[place] for column in costs),
            *_csv_mix(point),
        )
        for group, figure in point.groups.items():
            row = (point.vocab_size, group, *figure_fields(figure))
            yield (*row, *(None for _ in head[len(row) :]))


def _csv_mix(point: SweepPoint) -> tuple[float | None, ...]:
    if point.mixed is None:
        return ()
    figure = point.mixed.tokens_per_byte
    return (figure.value, *(figure.interval or (None, None)))
