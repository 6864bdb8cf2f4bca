"""A comparison in the forms that other programs read: JSON, CSV, Markdown, LaTeX."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.evaluation.comparison_json import comparison_document
from tokbench.evaluation.figures import Figure
from tokbench.metrics.catalogue import METRICS
from tokbench.render.comparison.tables import (
    groups_table,
    headline_of,
    legend_lines,
    mix_table,
    premiums_table,
    summary_table,
)
from tokbench.render.comparison.terminal import notes_of
from tokbench.render.costs import cost_columns, text_cost_columns
from tokbench.render.exports import result_forms
from tokbench.render.figures import figure_fields
from tokbench.render.table import BEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.metrics.metric import Metric
    from tokbench.render.exports import Forms
    from tokbench.render.table import Table

CSV_COLUMNS = (
    "tokenizer",
    "group",
    "metric",
    "value",
    "low",
    "high",
    "difference",
    "difference_low",
    "difference_high",
)
_NO_INTERVALS = (None,) * 5


def comparison_forms(comparison: Comparison, *, metrics: Sequence[Metric] | None = None) -> Forms:
    """A comparison in the forms that other programs read, with the tables and sentences of the terminal.

    Args:
        comparison: what was found.
        metrics: by default all in JSON and CSV, and those that matter most in tables.
    """
    return result_forms(
        json=lambda: comparison_document(comparison, metrics=metrics),
        csv=lambda: (CSV_COLUMNS, *csv_rows(comparison, metrics=metrics)),
        parts=lambda: comparison_parts(comparison, metrics=metrics),
    )


def comparison_parts(
    comparison: Comparison, *, metrics: Sequence[Metric] | None = None
) -> Iterator[Table | str]:
    """The tables of a comparison, then its sentences; `metrics` as for `comparison_forms`."""
    several_groups = len(comparison.tokenizers[0].groups) > 1
    yield replace(summary_table(comparison, metrics=metrics), caption="")
    if several_groups:
        premiums = premiums_table(comparison)
        if premiums is not None:
            yield premiums
        yield groups_table(comparison, headline_of(metrics))
    mix = mix_table(comparison)
    if mix is not None:
        yield mix
    yield from legend_lines(comparison, metrics=metrics, mark=BEST)
    if comparison.fairness_gap is not None and several_groups:
        yield f"no premium of languages: {comparison.fairness_gap}"
    yield from (*comparison.summary, *comparison.mix_summary)
    yield from notes_of(comparison)


def csv_rows(comparison: Comparison, *, metrics: Sequence[Metric] | None) -> Iterator[list[object]]:
    """The rows of CSV without its head: one for each tokenizer, group and metric; all text is the group "".

    Behind the metrics stand "premium" and "gini" where lines are aligned, "relative_tokens", the mix and the costs.
    """
    chosen = list(METRICS.values()) if metrics is None else metrics
    for one in comparison.tokenizers:
        for metric in chosen:
            yield [one.name, "", metric.name, *figure_fields(one.figures[metric.name])]
        for group, figures in one.groups.items():
            for metric in chosen:
                yield [one.name, group, metric.name, *figure_fields(figures[metric.name])]
        yield from _csv_fairness(one)
        if len(comparison.tokenizers) > 1:
            yield [one.name, "", "relative_tokens", *figure_fields(one.relative)]
        if one.mixed is not None:
            yield [
                one.name,
                str(comparison.mix),
                "tokens_per_byte",
                *figure_fields(one.mixed.tokens_per_byte),
            ]
        yield from _csv_costs(one)


def _csv_costs(one: EvaluatedTokenizer) -> Iterator[list[object]]:
    """What is known of its costs: of all text, then of each group."""
    for column in cost_columns([one.cost]):
        yield [one.name, "", column.name, column.values[0], *_NO_INTERVALS]
    for group, cost in one.cost.groups.items():
        for column in text_cost_columns([cost]):
            yield [one.name, group, column.name, column.values[0], *_NO_INTERVALS]


def _csv_fairness(one: EvaluatedTokenizer) -> Iterator[list[object]]:
    """Premiums and the Gini coefficient: figures without a difference."""
    if one.fairness is None:
        return
    for language, premium in one.fairness.premiums.items():
        figure = Figure(premium, one.fairness.premium_interval(language))
        yield [one.name, language, "premium", *figure_fields(figure)]
    yield [one.name, "", "gini", *figure_fields(Figure(one.fairness.gini, one.fairness.gini_interval))]
