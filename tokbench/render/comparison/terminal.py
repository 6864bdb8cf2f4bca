"""A comparison for the terminal: one line a tokenizer, one line a group, and what it comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.evaluation.holdout import gaps_of
from tokbench.evaluation.ranking import in_order
from tokbench.render.comparison.columns import (
    BEST,
    PEAK,
    comparison_columns,
    headline_of,
    legend_lines,
    mix_columns,
    mix_title,
)
from tokbench.render.figures import LOSSY, bar, shown_figure, shown_gini, shown_premium
from tokbench.render.glyphs import visible
from tokbench.render.layout import Column, print_panes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from tokbench.evaluation.comparison import Comparison, TrainingSetup
    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.metrics.catalogue import Metric
    from tokbench.render.comparison.columns import FigureColumn

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
    columns = list(comparison_columns(comparison, metrics=metrics, times=metrics is None))
    if comparison.training_setup is not None:
        console.print(Text(_training_setup(comparison.training_setup), style="dim"))
    names = [Text(visible(one.name), style="bold") for one in comparison.tokenizers]
    print_panes("", names, [_column(column) for column in columns], console=console)
    _print_lines(_legend(comparison, columns), console=console, style="dim")
    if any(column.title == PEAK for column in columns):
        console.print(Text(_PEAK_MEANS, style="dim"))
    _print_groups(comparison, headline_of(metrics), console=console)
    mixed = [_column(column) for column in mix_columns(comparison)]
    if mixed:
        console.print(Text(mix_title(comparison)))
        print_panes("", names, mixed, console=console)
    console.print()
    _print_lines((*comparison.summary, *comparison.mix_summary), console=console)
    _print_lines(notes_of(comparison), console=console, style="yellow")


# --- tokenizers -----------------------------------------------------------------------------------


def _column(column: FigureColumn) -> Column:
    """A column for the terminal, the best with a mark where there may be one."""
    if column.metric is None:
        return Column(column.title, tuple(Text(cell) for cell in column.cells))
    return Column(
        column.title,
        tuple(
            Text(f"{cell}{BEST}", style="bold green") if place == column.best else Text(f"{cell} ")
            for place, cell in enumerate(column.cells)
        ),
    )


def _legend(comparison: Comparison, columns: Sequence[FigureColumn]) -> Iterator[str]:
    legend, *others = legend_lines(comparison, columns, mark=BEST)
    yield f"{AGGREGATED[comparison.aggregation]} {comparison.parts}, {comparison.num_bytes:,} bytes; {legend}"
    yield from others


# --- groups ---------------------------------------------------------------------------------------


def _print_groups(comparison: Comparison, metric: Metric, *, console: Console) -> None:
    evaluated = comparison.tokenizers
    if len(evaluated[0].groups) < 2:
        return
    premiums = [one.fairness for one in evaluated]
    if all(found is not None for found in premiums):
        _print_premiums(comparison, console=console)
    elif comparison.fairness_gap:
        console.print(Text(f"no premium of languages: {comparison.fairness_gap}", style="dim"))
    languages = {group for found in premiums if found is not None for group in found.premiums}
    groups = [group for group in evaluated[0].groups if group not in languages]
    if groups:
        _print_values(comparison, metric, groups, console=console)


def _print_values(comparison: Comparison, metric: Metric, groups: Sequence[str], *, console: Console) -> None:
    """A metric by group, with bars of the baseline."""
    base = _baseline(comparison)
    groups = in_order(base, groups, metric)
    columns = [
        Column(
            visible(one.name),
            tuple(Text(shown_figure(one.groups[group][metric.name], metric)) for group in groups),
        )
        for one in comparison.tokenizers
    ]
    bars = _bars([base.groups[group][metric.name].value for group in groups])
    labels = [Text(visible(group)) for group in groups]
    print_panes(metric.title, labels, columns, bars=bars, console=console)


def _print_premiums(comparison: Comparison, *, console: Console) -> None:
    """What each language costs over the reference, the dearest first, with bars of the baseline."""
    base = _baseline(comparison).fairness
    if base is None:
        return
    languages = sorted(base.premiums, key=lambda one: (-(base.premiums[one] or 0), one))
    columns = [
        Column(
            visible(one.name),
            (*(_premium(one, language) for language in languages), Text(shown_gini(one))),
        )
        for one in comparison.tokenizers
    ]
    bars = _bars([*map(base.premiums.get, languages), None])
    labels = [*(Text(visible(language)) for language in languages), Text("Gini", style="dim")]
    print_panes(f"tokens over {visible(base.reference)}", labels, columns, bars=bars, console=console)
    if any(LOSSY in cell.plain for column in columns for cell in column.cells):
        console.print(Text(f"{LOSSY} more than 1 % unknown tokens: cheap because text is lost", style="dim"))


def _bars(values: Sequence[float | None]) -> Column:
    longest = max((value for value in values if value is not None), default=0.0)
    cells = tuple(Text(bar(value, longest, width=_BAR_WIDTH), style="cyan") for value in values)
    return Column("", cells, justify="left")


def _premium(one: EvaluatedTokenizer, language: str) -> Text:
    premium = shown_premium(one, language)
    return Text(premium, style="dim" if LOSSY in premium else "")


def _baseline(comparison: Comparison) -> EvaluatedTokenizer:
    return next(one for one in comparison.tokenizers if one.name == comparison.baseline)


# --- words ----------------------------------------------------------------------------------------


def _training_setup(training_setup: TrainingSetup) -> str:
    return (
        f"trained on {training_setup.training_bytes:,} bytes ({training_setup.num_training:,} {training_setup.unit}), "
        f"{training_setup.vocab_size:,} entries each; evaluated on what was held out{_shares(training_setup)}"
    )


def _shares(training_setup: TrainingSetup) -> str:
    """How much of each group was held out: the least and the most, where anything was."""
    held = sorted(share for share in training_setup.shares.values() if share)
    if not held:
        return ""
    least, most = f"{held[0] * 100:.1f}", f"{held[-1] * 100:.1f}"
    return f": {least if least == most else f'{least}…{most}'} % of each group"


def notes_of(comparison: Comparison) -> Iterator[str]:
    """What the reader of the figures has to know."""
    yield from comparison.provenance.warnings
    if comparison.training_setup is not None:
        yield from gaps_of(comparison.training_setup.shares)
        for reason in comparison.training_setup.left_out.values():
            yield f"left out: {reason}"
    for one in comparison.tokenizers:
        for note in one.candidate.notes:
            yield f"note: {one.name} {note}"


def _print_lines(lines: Sequence[str] | Iterator[str], *, console: Console, style: str = "") -> None:
    for line in lines:
        console.print(Text(visible(line), style=style))
