"""A sweep in the forms that other programs read: JSON, CSV, Markdown, LaTeX."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from tokbench.evaluation.comparison_json import figure_document, mix_document
from tokbench.evaluation.costs import cost_document
from tokbench.evaluation.recommendation import METHOD
from tokbench.evaluation.sweep import SWEPT
from tokbench.render.comparison.costs import cost_columns
from tokbench.render.comparison.exports import latex_notes, latex_of, markdown_notes, markdown_of
from tokbench.render.sweep.tables import (
    legend_of_sweep,
    sentences_of,
    sizes_by_group,
    sizes_table,
    subtitle_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokbench.evaluation.figures import Figure
    from tokbench.evaluation.sweep import Sweep
    from tokbench.evaluation.sweep_point import SweepPoint
    from tokbench.render.cells import Table
    from tokbench.render.comparison.exports import Form

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
            "held_out_shares": dict(sweep.shares),
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
                "cost": None if point.cost is None or not point.cost.is_known else cost_document(point.cost),
                "mix": None if point.mixed is None else figure_document(point.mixed.tokens_per_byte),
                "groups": {group: figure_document(figure) for group, figure in point.groups.items()},
            }
            for point in sweep.points
        ],
        "knee": sweep.knee,
        "method": METHOD,
        "recommended": sweep.recommended,
        "reason": sweep.reason,
        "missing": list(sweep.missing),
        "interval_gap": sweep.interval_gap,
        "group_interval_gaps": dict(sweep.group_interval_gaps),
        "mix": None if sweep.mix is None else mix_document(sweep.mix, sweep.mix_summary),
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
        writer.writerow(
            (
                point.vocab_size,
                "",
                point.bytes_per_token,
                *_csv_gain(point.gain),
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
        empty = [None] * (len(CSV_COLUMNS) + len(costs) + len(mixed) - 8)
        writer.writerows(
            (point.vocab_size, group, figure.value, *_csv_gain(figure), *empty)
            for group, figure in point.groups.items()
        )
    return text.getvalue().encode()


def _csv_gain(figure: Figure | None) -> tuple[float | None, ...]:
    """The interval of a figure, its difference to the size before, and the interval of that."""
    if figure is None:
        return (None,) * 5
    return (
        *(figure.interval or (None, None)),
        figure.difference,
        *(figure.difference_interval or (None, None)),
    )


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
            [*(markdown_of(table) for table in _tables(sweep)), markdown_notes(_notes(sweep))]
        ),
        "latex": lambda: b"\n".join(
            [*(latex_of(table) for table in _tables(sweep)), latex_notes(_notes(sweep))]
        ),
    }


def _json(sweep: Sweep) -> bytes:
    import orjson

    return orjson.dumps(sweep_document(sweep)) + b"\n"


def _tables(sweep: Sweep) -> Iterator[Table]:
    yield sizes_table(sweep)
    by_group = sizes_by_group(sweep)
    if by_group is not None:
        yield by_group


def _notes(sweep: Sweep) -> Iterator[str]:
    yield from sentences_of(sweep)
    yield subtitle_of(sweep)
    yield from legend_of_sweep(sweep)
