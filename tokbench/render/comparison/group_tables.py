"""The tables of a comparison with a row per group or language, shared by all output forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.evaluation.evaluated_tokenizer import groups_in_order
from tokbench.render.comparison.tables import baseline_of, by_premium, fair_tokenizers, initial_order
from tokbench.render.figures import (
    LOSSY,
    MEANING_OF_LOSSY,
    loses_text,
    shown_figure,
    shown_gini,
    shown_premium,
)
from tokbench.render.glyphs import visible
from tokbench.render.table import Cell, Column, Table, count_column, text_cell, text_column

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.metrics.metric import Metric


def groups_table(comparison: Comparison, metric: Metric, groups: Iterable[str] | None = None) -> Table:
    """Return a table with a row per group: its size, and a metric of each tokenizer, with bars of the baseline.

    Args:
        comparison: the comparison.
        metric: the metric to show.
        groups: by default all.
    """
    base = baseline_of(comparison)
    names = groups_in_order(base, base.groups if groups is None else groups, metric)
    sizes = comparison.tokenizers[0].evaluation.groups
    columns = [
        tuple(_figure_cell(tokenizer, name, metric) for name in names) for tokenizer in comparison.tokenizers
    ]
    is_marked = any(LOSSY in cell.text for column in columns for cell in column)
    return Table(
        f"{metric.title} by group{f'; {LOSSY}: {MEANING_OF_LOSSY}' if is_marked else ''}",
        (
            text_column("group", names),
            count_column(
                "bytes",
                (sizes[name]["bytes"] for name in names),
                meaning="UTF-8 bytes of its text",
                is_detail=True,
            ),
            *(
                Column(visible(tokenizer.name), cells, first=initial_order(metric))
                for tokenizer, cells in zip(comparison.tokenizers, columns, strict=True)
            ),
        ),
        corner=metric.title,
        bars=tuple(base.groups[name][metric.name].value for name in names),
        bars_title=_bars_title(comparison),
    )


def premiums_table(comparison: Comparison) -> Table | None:
    """Return a table with a row per language, the highest premium first: tokens relative to the reference, with bars.

    None without aligned lines.
    """
    base = baseline_of(comparison).fairness
    if base is None:
        return None
    languages = by_premium(base)
    reference = visible(base.reference)
    heads = (*map(text_cell, languages), Cell("Gini", style="dim"))
    return Table(
        f"Tokens over those of {reference} on the same lines; {LOSSY}: {MEANING_OF_LOSSY}; Gini: how unequal they are",
        (
            Column("language", heads, first="ascending", align="left"),
            *(
                Column(
                    visible(tokenizer.name),
                    (
                        *(_premium_cell(tokenizer, language) for language in languages),
                        _lossy_cell(shown_gini(tokenizer), fairness.gini),
                    ),
                )
                for tokenizer, fairness in fair_tokenizers(comparison)
            ),
        ),
        corner=f"tokens over {reference}",
        bars=(*(base.premiums[language] for language in languages), None),
        bars_title=_bars_title(comparison),
    )


def _bars_title(comparison: Comparison) -> str:
    return visible(comparison.baseline) if len(comparison.tokenizers) > 1 else ""


def _figure_cell(tokenizer: EvaluatedTokenizer, group: str, metric: Metric) -> Cell:
    """Format a figure of a group; one that is not a share is marked where lost text makes it look better than it is."""
    figure = tokenizer.groups[group][metric.name]
    mark = LOSSY if not metric.share and loses_text(tokenizer, group) else ""
    return _lossy_cell(shown_figure(figure, metric, mark=mark), figure.value)


def _premium_cell(tokenizer: EvaluatedTokenizer, language: str) -> Cell:
    value = None if tokenizer.fairness is None else tokenizer.fairness.premiums.get(language)
    return _lossy_cell(shown_premium(tokenizer, language), value)


def _lossy_cell(text: str, value: float | None) -> Cell:
    return Cell(text, value, style="dim" if LOSSY in text else "")
