"""The tables of the page: texts as they are shown, and beside each the value that it is sorted by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tokbench.evaluation.ranking import best_of
from tokbench.metrics.catalogue import METRICS, metric_named
from tokbench.render.charts.comparison import LONGEST_TOKEN, token_lengths
from tokbench.render.comparison import HEADLINES
from tokbench.render.figures import (
    LOSSY,
    legend_of,
    shown,
    shown_difference,
    shown_gini,
    shown_premium,
)
from tokbench.render.tables import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokbench.evaluation.comparison import Comparison, Judged
    from tokbench.metrics.catalogue import Metric
    from tokbench.render.charts.sweep import Point

_NONE = "–"


@dataclass(frozen=True, slots=True)
class Column:
    """A head.

    Attributes:
        title: its text.
        meaning: more of it, shown when asked for.
        first: which way the first click sorts.
    """

    title: str
    meaning: str = ""
    first: Literal["ascending", "descending"] = "descending"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell.

    Attributes:
        text: what is shown.
        value: what it is sorted by; None is last, whichever way.
        best: whether no other of its column is better.
    """

    text: str
    value: float | str | None
    best: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, the first of each the row's head.

    Attributes:
        caption: what it shows.
        columns: the heads.
        rows: as many cells each.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


def summary_table(comparison: Comparison, *, metrics: Sequence[Metric] | None = None) -> Table:
    """A row for each tokenizer: size, the metrics that matter most or that are given, and what it cost."""
    chosen = [metric_named(name) for name in HEADLINES] if metrics is None else list(metrics)
    columns = [
        *((_TOKENIZER, [_name(one.name) for one in comparison.tokenizers]),),
        *_figure_columns(comparison, chosen),
        *_cost_columns(comparison.tokenizers),
    ]
    return Table(
        caption=f"The tokenizers on all text; bold: {legend_of(comparison, mark='the')}",
        columns=tuple(column for column, _ in columns),
        rows=tuple(zip(*(cells for _, cells in columns), strict=True)),
    )


_TOKENIZER = Column("tokenizer", first="ascending")


def _figure_columns(comparison: Comparison, metrics: Sequence[Metric]) -> Iterator[tuple[Column, list[Cell]]]:
    judged = comparison.tokenizers
    sizes = [one.contestant.tokenizer.info.vocab_size for one in judged]
    yield Column("entries", "vocabulary size, special tokens included"), [_count(size) for size in sizes]
    for number, metric in enumerate(metrics):
        best = best_of(comparison.tokenizers, metric)
        yield _metric_column(metric), [_figure_cell(one, metric, best=best) for one in judged]
        if number == 0:
            against = Column(
                f"vs {visible(comparison.baseline)}",
                f"difference of {metric.title} to the baseline, with its 95 % interval (paired bootstrap "
                "over what was drawn independently); ≈ cannot be told apart",
            )
            yield against, [_difference(one, metric, baseline=comparison.baseline) for one in judged]


def _figure_cell(one: Judged, metric: Metric, *, best: str | None) -> Cell:
    value = one.figures[metric.name].value
    return Cell(shown(value, metric), value, best=one.name == best)


def _difference(one: Judged, metric: Metric, *, baseline: str) -> Cell:
    is_baseline = one.name == baseline
    return Cell(
        _NONE if is_baseline else shown_difference(one, metric),
        0.0 if is_baseline else one.figures[metric.name].difference,
    )


def _cost_columns(judged: Sequence[Judged]) -> Iterator[tuple[Column, list[Cell]]]:
    """Those of the costs that are known of some tokenizer."""
    trained = [(one.contestant.training_seconds, one.contestant.training_peak_bytes) for one in judged]
    speeds = [None if one.throughput is None else one.throughput.median for one in judged]
    costs = (
        (Column("loading", "milliseconds to open it", first="ascending"), [one.loading_seconds for one in judged],
         "{:,.0f} ms", 1e-3),
        (Column("training", "seconds to train", first="ascending"), [time for time, _ in trained], "{:.1f} s", 1),
        (Column("peak", "memory of a process that only trains", first="ascending"), [m for _, m in trained],
         "{:,.0f} MB", 1e6),
        (Column("MB/s", "text encoded on one thread, median of several runs"), speeds, "{:.1f}", 1),
    )  # fmt: skip
    for column, values, form, unit in costs:
        if any(value is not None for value in values):
            yield (
                column,
                [Cell(_NONE if value is None else form.format(value / unit), value) for value in values],
            )


def figures_table(comparison: Comparison) -> Table:
    """A row for each metric there is: what it means, and what each tokenizer has."""
    rows = []
    for metric in METRICS.values():
        best = best_of(comparison.tokenizers, metric)
        cells = (_figure_cell(one, metric, best=best) for one in comparison.tokenizers)
        rows.append((Cell(metric.title, metric.title), *cells, Cell(metric.meaning, metric.meaning)))
    return Table(
        caption="All figures",
        columns=(
            Column("figure", first="ascending"),
            *(Column(visible(one.name)) for one in comparison.tokenizers),
            Column("meaning", first="ascending"),
        ),
        rows=tuple(rows),
    )


def provenance_table(comparison: Comparison) -> Table:
    """A row for each tokenizer: what made it, what runs it, and the hash of its entries."""
    found = comparison.provenance
    heads = ("tokenizer", "backend", "runs on", "SHA-256 of the entries")
    return Table(
        caption=f"tokbench {found.versions['tokbench']}, Python {found.versions['python']}",
        columns=tuple(Column(head, first="ascending") for head in heads),
        rows=tuple(
            (
                _name(one.name),
                _name(one.contestant.tokenizer.info.backend),
                _name(found.versions[one.name]),
                _name(found.vocabularies[one.name]),
            )
            for one in comparison.tokenizers
        ),
    )


def groups_table(comparison: Comparison, metric: Metric) -> Table:
    """A row for each group: its size, and a metric of each tokenizer."""
    judged = comparison.tokenizers
    sizes = judged[0].evaluation.groups
    return Table(
        caption=f"{metric.title} by group",
        columns=(
            Column("group", first="ascending"),
            Column("bytes", "UTF-8 bytes of its text"),
            *(_named_column(one.name, metric) for one in judged),
        ),
        rows=tuple(
            (
                _name(group),
                _count(sizes[group]["bytes"]),
                *(
                    Cell(shown(value, metric), value)
                    for value in (one.groups[group][metric.name].value for one in judged)
                ),
            )
            for group in judged[0].groups
        ),
    )


def premiums_table(comparison: Comparison) -> Table | None:
    """A row for each language: its tokens over those of the reference; None where no lines are aligned."""
    fair = [(one, one.fairness) for one in comparison.tokenizers if one.fairness is not None]
    if not fair:
        return None
    languages = dict.fromkeys(language for _, fairness in fair for language in fairness.premiums)
    rows = [
        (
            _name(language),
            *(Cell(shown_premium(one, language), fairness.premiums.get(language)) for one, fairness in fair),
        )
        for language in languages
    ]
    ginis = (Cell(shown_gini(one), fairness.gini) for one, fairness in fair)
    return Table(
        caption=f"Tokens over those of {visible(fair[0][1].reference)} on the same lines; {LOSSY}: more than 1 % "
        "unknown tokens, cheap because text is lost; Gini: how unequal they are",
        columns=(Column("language", first="ascending"), *(Column(visible(one.name)) for one, _ in fair)),
        rows=(*rows, (Cell("Gini", None), *ginis)),
    )


def lengths_table(comparison: Comparison) -> Table:
    """A row for each length in bytes: the share of each tokenizer's tokens."""
    shares = [token_lengths(one).tolist() for one in comparison.tokenizers]
    rows = []
    for length, values in enumerate(zip(*shares, strict=True)):
        if length or any(values):
            text = f"{length}+" if length == LONGEST_TOKEN else str(length)
            rows.append((Cell(text, length), *(Cell(f"{share:.2%}", share) for share in values)))
    return Table(
        caption="Share of tokens by their bytes",
        columns=(Column("bytes", first="ascending"), *_tokenizers(comparison)),
        rows=tuple(rows),
    )


def frequencies_table(comparison: Comparison) -> Table:
    """A row for the ranks 1, 10, 100, …: the share of each tokenizer's token at that place."""
    found = [
        np.sort(one.evaluation.frequencies[one.evaluation.frequencies > 0])[::-1]
        for one in comparison.tokenizers
    ]
    rows = []
    for rank in (10**power for power in range(len(str(max(map(len, found)))))):
        shares = [float(one[rank - 1] / one.sum()) if rank <= len(one) else None for one in found]
        rows.append(
            (_count(rank), *(Cell(_NONE if share is None else f"{share:.4%}", share) for share in shares))
        )
    return Table(
        caption="Share of tokens by rank",
        columns=(Column("rank", first="ascending"), *_tokenizers(comparison)),
        rows=tuple(rows),
    )


def sweep_table(points: Iterable[Point], knee: int | None) -> Table:
    """A row for each vocabulary size: bytes per token of each group; the knee is marked as the best."""
    values = {(size, group): value for size, value, group in points}
    sizes, groups = sorted({size for size, _ in values}), list(dict.fromkeys(group for _, group in values))
    found = {size: [values.get((size, group)) for group in groups] for size in sizes}
    return Table(
        caption="Bytes per token by vocabulary size",
        columns=(Column("entries", first="ascending"), *(Column(visible(group)) for group in groups)),
        rows=tuple(
            (
                Cell(f"{size:,}{' (knee)' if size == knee else ''}", size, best=size == knee),
                *(Cell(_ratio(value), value) for value in found[size]),
            )
            for size in sizes
        ),
    )


def _tokenizers(comparison: Comparison) -> tuple[Column, ...]:
    return tuple(Column(visible(one.name)) for one in comparison.tokenizers)


def _metric_column(metric: Metric) -> Column:
    better = {"higher": "; more is better", "lower": "; less is better"}.get(metric.direction, "")
    return Column(
        metric.title,
        f"{metric.meaning}{better}",
        first="ascending" if metric.direction == "lower" else "descending",
    )


def _named_column(name: str, metric: Metric) -> Column:
    return Column(visible(name), first=_metric_column(metric).first)


def _name(name: str) -> Cell:
    return Cell(visible(name), visible(name))


def _count(number: int) -> Cell:
    return Cell(f"{number:,}", number)


def _ratio(value: float | None) -> str:
    return _NONE if value is None else f"{value:.3f}"
