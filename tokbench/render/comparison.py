"""Comparisons for the terminal with a summary, as JSON, CSV, Markdown and LaTeX, and their tables by group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.wording import counted
from tokbench.evaluation.candidates import BASELINES
from tokbench.evaluation.comparison_json import comparison_document
from tokbench.evaluation.evaluated_tokenizer import groups_in_order
from tokbench.evaluation.figures import Figure, counted_parts
from tokbench.evaluation.holdout import gaps_of
from tokbench.metrics.catalogue import METRICS
from tokbench.render.comparison_tables import (
    PEAK,
    baseline_of,
    by_premium,
    fair_tokenizers,
    headline_of,
    initial_order,
    legend_lines,
    mix_table,
    summary_table,
)
from tokbench.render.figures import (
    MEANING_OF_LOSSY,
    cost_columns,
    figure_fields,
    shown_figure,
    shown_gini,
    shown_premium,
    text_cost_columns,
)
from tokbench.render.glyphs import visible
from tokbench.render.table import (
    BEST,
    LOSSY,
    Cell,
    Column,
    Table,
    count_column,
    result_forms,
    text_cell,
    text_column,
)
from tokbench.render.terminal import print_lines, write_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

    from tokbench.evaluation.comparison import Comparison, TrainingSetup
    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.metrics.metric import Metric
    from tokbench.render.table import Forms


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
    mark = LOSSY if not metric.share and tokenizer.looks_cheaper(group) else ""
    return _lossy_cell(shown_figure(figure, metric, mark=mark), figure.value)


def _premium_cell(tokenizer: EvaluatedTokenizer, language: str) -> Cell:
    value = None if tokenizer.fairness is None else tokenizer.fairness.premiums.get(language)
    return _lossy_cell(shown_premium(tokenizer, language), value)


def _lossy_cell(text: str, value: float | None) -> Cell:
    return Cell(text, value, style="dim" if LOSSY in text else "")


AGGREGATED = {"pooled": "on", "macro": "means over the groups of", "per_document": "means over"}
"""How documents were aggregated, as the words before their number."""
_BAR_WIDTH = 12
_PEAK_MEANS = (
    "peak: the memory of a process that does nothing but train, with the interpreter and the library"
)

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


def render_comparison(
    comparison: Comparison, *, metrics: Sequence[Metric] | None = None, console: Console
) -> None:
    """Print the figures of all tokenizers, the groups, and the summary.

    Args:
        comparison: the comparison.
        metrics: the columns; by default the most important metrics, with times and memory.
        console: the console; columns wider than it go into a second table.
    """
    if comparison.training_setup is not None:
        console.print(Text(_training_setup(comparison, comparison.training_setup), style="dim"))
    summary = summary_table(comparison, metrics=metrics)
    write_table(summary, console=console)
    print_lines(_legend(comparison, metrics), console=console, style="dim")
    if any(column.title == PEAK for column in summary.columns):
        console.print(Text(_PEAK_MEANS, style="dim"))
    if len(comparison.tokenizers[0].groups) > 1:
        _print_groups(comparison, headline_of(metrics), console=console)
    mix = mix_table(comparison)
    if mix is not None:
        console.print(Text(mix.caption))
        write_table(mix, console=console)
    console.print()
    print_lines((*comparison.summary, *comparison.mix_summary), console=console)
    print_lines(notes_of(comparison), console=console, style="yellow")


def _legend(comparison: Comparison, metrics: Sequence[Metric] | None) -> Iterator[str]:
    legend, *others = legend_lines(comparison, metrics=metrics, mark=BEST)
    yield f"{AGGREGATED[comparison.aggregation]} {comparison.parts}, {counted(comparison.num_bytes, 'byte')}; {legend}"
    yield from others


def _print_groups(comparison: Comparison, metric: Metric, *, console: Console) -> None:
    """Print the premiums of languages, and a metric of the other groups."""
    premiums = premiums_table(comparison)
    if premiums is not None:
        _print_marked(premiums, console=console)
    elif comparison.fairness_gap:
        console.print(Text(f"no language premiums: {comparison.fairness_gap}", style="dim"))
    fair = (tokenizer.fairness for tokenizer in comparison.tokenizers)
    languages = {language for fairness in fair if fairness is not None for language in fairness.premiums}
    groups = [group for group in comparison.tokenizers[0].groups if group not in languages]
    if groups:
        _print_marked(groups_table(comparison, metric, groups), console=console)


def _print_marked(table: Table, *, console: Console) -> None:
    """Print a table, and the meaning of the mark for lost text if it is used."""
    write_table(table, bar_width=_BAR_WIDTH, console=console)
    if any(LOSSY in cell.text for row in table.rows for cell in row[1:]):
        console.print(Text(f"{LOSSY} {MEANING_OF_LOSSY}", style="dim"))


def _training_setup(comparison: Comparison, training_setup: TrainingSetup) -> str:
    infos = [tokenizer.candidate.tokenizer.info for tokenizer in comparison.tokenizers]
    sizes = {info.vocab_size for info in infos if info.backend not in BASELINES}
    at_most = "at most " if sizes - {training_setup.vocab_size} else ""
    return (
        f"trained on {counted(training_setup.training_bytes, 'byte')} "
        f"({counted_parts(training_setup.num_training, training_setup.unit)}), "
        f"{at_most}{training_setup.vocab_size:,} tokens each; evaluated on held-out text{_shares(training_setup)}"
    )


def _shares(training_setup: TrainingSetup) -> str:
    """Describe the share of each group that was held out: the lowest and the highest."""
    held = sorted(share for share in training_setup.shares.values() if share)
    if not held:
        return ""
    least, most = f"{held[0] * 100:.1f}", f"{held[-1] * 100:.1f}"
    return f": {least if least == most else f'{least}…{most}'} % of each group"


def notes_of(comparison: Comparison) -> Iterator[str]:
    """Yield warnings and notes on the figures."""
    yield from comparison.provenance.warnings
    if comparison.training_setup is not None:
        yield from gaps_of(comparison.training_setup.shares)
        for reason in comparison.training_setup.left_out.values():
            yield f"left out: {reason}"
    for tokenizer in comparison.tokenizers:
        for note in tokenizer.candidate.notes:
            yield f"note: {tokenizer.name} {note}"


def comparison_forms(comparison: Comparison, *, metrics: Sequence[Metric] | None = None) -> Forms:
    """Return the export forms of a comparison, with the same tables and sentences as on the terminal.

    Args:
        comparison: the comparison.
        metrics: by default all in JSON and CSV, and the most important ones in tables.
    """
    return result_forms(
        json=lambda: comparison_document(comparison, metrics=metrics),
        csv=lambda: (CSV_COLUMNS, *csv_rows(comparison, metrics=metrics)),
        parts=lambda: comparison_parts(comparison, metrics=metrics),
    )


def comparison_parts(
    comparison: Comparison, *, metrics: Sequence[Metric] | None = None
) -> Iterator[Table | str]:
    """Yield the tables of a comparison, then its sentences; `metrics` as for `comparison_forms`."""
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
        yield f"no language premiums: {comparison.fairness_gap}"
    yield from (*comparison.summary, *comparison.mix_summary)
    yield from notes_of(comparison)


def csv_rows(comparison: Comparison, *, metrics: Sequence[Metric] | None) -> Iterator[list[object]]:
    """Yield CSV rows without the header: one per tokenizer, group and metric; the group "" is all text.

    After the metrics come "premium" and "gini" if lines are aligned, "relative_tokens", the mix and the costs.
    """
    chosen = list(METRICS.values()) if metrics is None else metrics
    for tokenizer in comparison.tokenizers:
        for metric in chosen:
            yield [tokenizer.name, "", metric.name, *figure_fields(tokenizer.figures[metric.name])]
        for group, figures in tokenizer.groups.items():
            for metric in chosen:
                yield [tokenizer.name, group, metric.name, *figure_fields(figures[metric.name])]
        yield from _csv_fairness(tokenizer)
        if len(comparison.tokenizers) > 1:
            yield [tokenizer.name, "", "relative_tokens", *figure_fields(tokenizer.relative)]
        if tokenizer.mixed is not None:
            yield [
                tokenizer.name,
                str(comparison.mix),
                "tokens_per_byte",
                *figure_fields(tokenizer.mixed.tokens_per_byte),
            ]
        yield from _csv_costs(tokenizer)


def _csv_costs(tokenizer: EvaluatedTokenizer) -> Iterator[list[object]]:
    """Yield the known costs of a tokenizer: on all text, then by group."""
    for column in cost_columns([tokenizer.cost]):
        yield [tokenizer.name, "", column.name, column.values[0], *_NO_INTERVALS]
    for group, cost in tokenizer.cost.groups.items():
        for column in text_cost_columns([cost]):
            yield [tokenizer.name, group, column.name, column.values[0], *_NO_INTERVALS]


def _csv_fairness(tokenizer: EvaluatedTokenizer) -> Iterator[list[object]]:
    """Yield premiums and the Gini coefficient, which have no differences."""
    if tokenizer.fairness is None:
        return
    for language, premium in tokenizer.fairness.premiums.items():
        figure = Figure(premium, tokenizer.fairness.premium_interval(language))
        yield [tokenizer.name, language, "premium", *figure_fields(figure)]
    yield [
        tokenizer.name,
        "",
        "gini",
        *figure_fields(Figure(tokenizer.fairness.gini, tokenizer.fairness.gini_interval)),
    ]
