"""A comparison on the terminal, with a summary in words, and in the forms that other programs read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.core.wording import counted
from tokbench.evaluation.candidates import BASELINES
from tokbench.evaluation.comparison_json import comparison_document
from tokbench.evaluation.figures import Figure, counted_parts
from tokbench.evaluation.holdout import gaps_of
from tokbench.metrics.catalogue import METRICS
from tokbench.render.comparison.tables import (
    PEAK,
    groups_table,
    headline_of,
    legend_lines,
    mix_table,
    premiums_table,
    summary_table,
)
from tokbench.render.exports import result_forms
from tokbench.render.figures import LOSSY, cost_columns, figure_fields, text_cost_columns
from tokbench.render.table import BEST
from tokbench.render.terminal import print_lines, write_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from tokbench.evaluation.comparison import Comparison, TrainingSetup
    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.metrics.metric import Metric
    from tokbench.render.exports import Forms
    from tokbench.render.table import Table

AGGREGATED = {"pooled": "on", "macro": "means over the groups of", "per_document": "means over"}
"""How documents became one figure, before their number."""
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
    """The figures of all tokenizers, the groups, and the summary.

    Args:
        comparison: what was found.
        metrics: the columns; by default those that matter most, with times and memory.
        console: as wide as the terminal; columns that do not fit go into a table below.
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
    """The premiums of languages, and a metric of the other groups."""
    premiums = premiums_table(comparison)
    if premiums is not None:
        write_table(premiums, bar_width=_BAR_WIDTH, console=console)
        if any(LOSSY in cell.text for row in premiums.rows for cell in row[1:]):
            meaning = f"{LOSSY} more than 1 % unknown tokens: cheap because text is lost"
            console.print(Text(meaning, style="dim"))
    elif comparison.fairness_gap:
        console.print(Text(f"no premium of languages: {comparison.fairness_gap}", style="dim"))
    fair = (one.fairness for one in comparison.tokenizers)
    languages = {language for fairness in fair if fairness is not None for language in fairness.premiums}
    groups = [group for group in comparison.tokenizers[0].groups if group not in languages]
    if groups:
        write_table(groups_table(comparison, metric, groups), bar_width=_BAR_WIDTH, console=console)


def _training_setup(comparison: Comparison, training_setup: TrainingSetup) -> str:
    infos = [one.candidate.tokenizer.info for one in comparison.tokenizers]
    sizes = {info.vocab_size for info in infos if info.backend not in BASELINES}
    at_most = "at most " if sizes - {training_setup.vocab_size} else ""
    return (
        f"trained on {counted(training_setup.training_bytes, 'byte')} "
        f"({counted_parts(training_setup.num_training, training_setup.unit)}), "
        f"{at_most}{training_setup.vocab_size:,} tokens each; evaluated on what was held out{_shares(training_setup)}"
    )


def _shares(training_setup: TrainingSetup) -> str:
    """How much of each group was held out: the least and the most, where anything was."""
    held = sorted(share for share in training_setup.shares.values() if share)
    if not held:
        return ""
    least, most = f"{held[0] * 100:.1f}", f"{held[-1] * 100:.1f}"
    return f": {least if least == most else f'{least}…{most}'} % of each group"


def notes_of(comparison: Comparison) -> Iterator[str]:
    """Warnings and notes on the figures."""
    yield from comparison.provenance.warnings
    if comparison.training_setup is not None:
        yield from gaps_of(comparison.training_setup.shares)
        for reason in comparison.training_setup.left_out.values():
            yield f"left out: {reason}"
    for one in comparison.tokenizers:
        for note in one.candidate.notes:
            yield f"note: {one.name} {note}"


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

    After the metrics stand "premium" and "gini" where lines are aligned, "relative_tokens", the mix and the costs.
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
