"""A comparison on the terminal: a row for each tokenizer, a row for each group, and a summary in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.evaluation.holdout import gaps_of
from tokbench.render.comparison.tables import (
    PEAK,
    groups_table,
    headline_of,
    legend_lines,
    mix_table,
    premiums_table,
    summary_table,
)
from tokbench.render.figures import LOSSY
from tokbench.render.table import BEST
from tokbench.render.terminal import print_lines, write_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from tokbench.evaluation.comparison import Comparison, TrainingSetup
    from tokbench.metrics.metric import Metric

AGGREGATED = {"pooled": "on", "macro": "means over the groups of", "per_document": "means over"}
"""How documents became one figure, before their number."""
_BAR_WIDTH = 12
_PEAK_MEANS = (
    "peak: the memory of a process that does nothing but train, with the interpreter and the library"
)


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
        console.print(Text(_training_setup(comparison.training_setup), style="dim"))
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
    yield f"{AGGREGATED[comparison.aggregation]} {comparison.parts}, {comparison.num_bytes:,} bytes; {legend}"
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


def _training_setup(training_setup: TrainingSetup) -> str:
    return (
        f"trained on {training_setup.training_bytes:,} bytes ({training_setup.num_training:,} {training_setup.unit}), "
        f"{training_setup.vocab_size:,} tokens each; evaluated on what was held out{_shares(training_setup)}"
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
