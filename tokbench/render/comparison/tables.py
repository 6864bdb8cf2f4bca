"""A comparison in tables, for every form but the terminal: tokenizers, languages, groups, the mix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tokbench.render.cells import Cell, Column, Table, count_cell, name_cell
from tokbench.render.comparison.columns import (
    comparison_columns,
    fairness_columns,
    legend_lines,
    mix_columns,
    mix_title,
)
from tokbench.render.figures import LOSSY, shown_figure, shown_gini, shown_premium
from tokbench.render.glyphs import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.evaluation.comparison import Comparison
    from tokbench.metrics.catalogue import Metric
    from tokbench.render.comparison.columns import FigureColumn


def summary_columns(
    comparison: Comparison, *, metrics: Sequence[Metric] | None = None, times: bool = True
) -> list[FigureColumn]:
    """The figures of a summary, premium and Gini included where lines are aligned."""
    return [
        *comparison_columns(comparison, metrics=metrics, times=times),
        *fairness_columns(comparison),
    ]


def summary_table(comparison: Comparison, *, metrics: Sequence[Metric] | None = None) -> Table:
    """A row for each tokenizer: size, the metrics that matter most or that are given, and what it cost."""
    columns = summary_columns(comparison, metrics=metrics)
    return tokenizers_table(comparison, columns, caption="The tokenizers on all text")


def summary_legend(comparison: Comparison, *, metrics: Sequence[Metric] | None = None) -> list[str]:
    """What marks, intervals and heads of `summary_table` mean."""
    return list(legend_lines(comparison, summary_columns(comparison, metrics=metrics), mark="bold, *:"))


def mix_table(comparison: Comparison) -> Table | None:
    """A row for each tokenizer: what the mix costs; None where none was asked for."""
    columns = list(mix_columns(comparison))
    return tokenizers_table(comparison, columns, caption=mix_title(comparison)) if columns else None


def tokenizers_table(comparison: Comparison, columns: Sequence[FigureColumn], *, caption: str) -> Table:
    """A row for each tokenizer with some columns."""
    return Table(
        caption=caption,
        columns=(
            Column("tokenizer", first="ascending"),
            *(Column(column.title, column.meaning, first=column.first) for column in columns),
        ),
        rows=tuple(
            (
                name_cell(one.name),
                *(
                    Cell(column.cells[place], column.values[place], best=place == column.best)
                    for column in columns
                ),
            )
            for place, one in enumerate(comparison.tokenizers)
        ),
    )


def groups_table(comparison: Comparison, metric: Metric) -> Table:
    """A row for each group: its size, and a metric of each tokenizer."""
    evaluated = comparison.tokenizers
    sizes = evaluated[0].evaluation.groups
    return Table(
        caption=f"{metric.title} by group",
        columns=(
            Column("group", first="ascending"),
            Column("bytes", "UTF-8 bytes of its text"),
            *(Column(visible(one.name), first=_first(metric)) for one in evaluated),
        ),
        rows=tuple(
            (
                name_cell(group),
                count_cell(sizes[group]["bytes"]),
                *(
                    Cell(shown_figure(figure, metric), figure.value)
                    for figure in (one.groups[group][metric.name] for one in evaluated)
                ),
            )
            for group in evaluated[0].groups
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
            name_cell(language),
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


def _first(metric: Metric) -> Literal["ascending", "descending"]:
    return "ascending" if metric.direction == "lower" else "descending"
