"""A comparison for the terminal: one line a tokenizer, one line a group, and what it comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.evaluation.ranking import best_of, in_order
from tokbench.evaluation.splitting import gaps_of
from tokbench.metrics.catalogue import metric_named
from tokbench.render.figures import (
    LOSSY,
    bar,
    counted,
    legend_of,
    shown,
    shown_difference,
    shown_gini,
    shown_premium,
)
from tokbench.render.layout import Column, print_panes
from tokbench.render.tables import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console

    from tokbench.evaluation.comparison import Comparison, Judged, Setting
    from tokbench.metrics.catalogue import Metric

HEADLINES = (
    "bytes_per_token",
    "tokens_per_word",
    "character_coverage",
    "split_char_rate",
    "byte_token_rate",
    "unk_rate",
    "character_error_rate",
    "renyi_efficiency",
)
"""What is shown where nothing else is asked for."""

BEST = "*"
AGGREGATED = {"pooled": "on", "macro": "means over the groups of", "per_document": "means over"}
"""How documents became one figure, before their number."""
_BAR_WIDTH = 12
_PEAK = "peak"
_PEAK_MEANS = (
    "peak: the memory of a process that does nothing but train, with the interpreter and the library"
)


def render_comparison(
    comparison: Comparison, *, metrics: Sequence[Metric] | None = None, console: Console
) -> None:
    """The figures of all tokenizers, the groups, and the verdict.

    Args:
        comparison: what was found.
        metrics: the columns; by default those that matter most, with times and memory.
        console: as wide as the terminal; columns that do not fit go into a table below.
    """
    chosen = [metric_named(name) for name in HEADLINES] if metrics is None else list(metrics)
    columns = [*_figure_columns(comparison, chosen)]
    if metrics is None:
        columns += _cost_columns(comparison.tokenizers)
    if comparison.setting is not None:
        console.print(Text(_setting(comparison.setting), style="dim"))
    names = [Text(visible(one.name), style="bold") for one in comparison.tokenizers]
    print_panes("", names, columns, console=console)
    _print_lines(_legend(comparison), console=console, style="dim")
    if any(column.title == _PEAK for column in columns):
        console.print(Text(_PEAK_MEANS, style="dim"))
    headline = next((metric for metric in chosen if metric.direction != "neither"), chosen[0])
    _print_groups(comparison, headline, console=console)
    console.print()
    _print_lines(comparison.verdict, console=console)
    _print_lines(_notes(comparison), console=console, style="yellow")


# --- tokenizers -----------------------------------------------------------------------------------


def _figure_columns(comparison: Comparison, metrics: Sequence[Metric]) -> Iterator[Column]:
    yield Column("entries", tuple(Text(f"{_size(one):,}") for one in comparison.tokenizers))
    for number, metric in enumerate(metrics):
        yield Column(metric.title, tuple(_marked(comparison.tokenizers, metric)))
        if number == 0:
            yield Column(
                f"vs {visible(comparison.baseline)}",
                tuple(
                    Text("–" if one.name == comparison.baseline else shown_difference(one, metric))
                    for one in comparison.tokenizers
                ),
            )


def _size(one: Judged) -> int:
    return one.contestant.tokenizer.info.vocab_size


def _marked(judged: Sequence[Judged], metric: Metric) -> Iterator[Text]:
    """Each value as text, with a mark at the best where it can be told from the next."""
    best = best_of(judged, metric)
    for one in judged:
        value = shown(one.figures[metric.name].value, metric)
        is_best = one.name == best
        yield Text(value + (BEST if is_best else " "), style="bold green" if is_best else "")


def _cost_columns(judged: Sequence[Judged]) -> Iterator[Column]:
    def column(title: str, cell: Callable[[Judged], str | None]) -> Column:
        return Column(title, tuple(Text(cell(one) or "–") for one in judged))

    costs = (
        column("loading", lambda one: _milliseconds(one.loading_seconds)),
        column("training", lambda one: _seconds(one.contestant.training_seconds)),
        column(_PEAK, lambda one: _megabytes(one.contestant.training_peak_bytes)),
        column("MB/s", lambda one: None if one.throughput is None else f"{one.throughput.median:.1f}"),
    )
    return (column for column in costs if any(cell.plain != "–" for cell in column.cells))


def _seconds(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds:.1f} s"


def _milliseconds(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds * 1e3:,.0f} ms"


def _megabytes(num_bytes: int | None) -> str | None:
    return None if num_bytes is None else f"{num_bytes / 1e6:,.0f} MB"


def _legend(comparison: Comparison) -> Iterator[str]:
    documents = counted(comparison.documents, "document")
    yield (
        f"{AGGREGATED[comparison.aggregation]} {documents}, {comparison.num_bytes:,} bytes; "
        + legend_of(comparison, mark=BEST)
    )


# --- groups ---------------------------------------------------------------------------------------


def _print_groups(comparison: Comparison, metric: Metric, *, console: Console) -> None:
    judged = comparison.tokenizers
    if len(judged[0].groups) < 2:
        return
    premiums = [one.fairness for one in judged]
    if all(found is not None for found in premiums):
        _print_premiums(comparison, console=console)
    elif comparison.fairness_gap:
        console.print(Text(f"no premium of languages: {comparison.fairness_gap}", style="dim"))
    languages = {group for found in premiums if found is not None for group in found.premiums}
    groups = [group for group in judged[0].groups if group not in languages]
    if groups:
        _print_values(comparison, metric, groups, console=console)


def _print_values(comparison: Comparison, metric: Metric, groups: Sequence[str], *, console: Console) -> None:
    """A metric by group, with bars of the baseline."""
    base = _baseline(comparison)
    groups = in_order(base, groups, metric)
    columns = [
        Column(
            visible(one.name),
            tuple(Text(shown(one.groups[group][metric.name].value, metric)) for group in groups),
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


def _premium(one: Judged, language: str) -> Text:
    premium = shown_premium(one, language)
    return Text(premium, style="dim" if LOSSY in premium else "")


def _baseline(comparison: Comparison) -> Judged:
    return next(one for one in comparison.tokenizers if one.name == comparison.baseline)


# --- words ----------------------------------------------------------------------------------------


def _setting(setting: Setting) -> str:
    return (
        f"trained on {setting.training_bytes:,} bytes ({setting.num_training:,} {setting.unit}), "
        f"{setting.vocab_size:,} entries each; judged on what was held out{_shares(setting)}"
    )


def _shares(setting: Setting) -> str:
    """How much of each group was held out: the least and the most, where anything was."""
    held = sorted(share for share in setting.shares.values() if share)
    if not held:
        return ""
    least, most = f"{held[0] * 100:.1f}", f"{held[-1] * 100:.1f}"
    return f": {least if least == most else f'{least}…{most}'} % of each group"


def _notes(comparison: Comparison) -> Iterator[str]:
    yield from comparison.provenance.warnings
    if comparison.setting is not None:
        yield from gaps_of(comparison.setting.shares)
        for reason in comparison.setting.left_out.values():
            yield f"left out: {reason}"
    for one in comparison.tokenizers:
        for note in one.contestant.notes:
            yield f"note: {one.name} {note}"


def _print_lines(lines: Sequence[str] | Iterator[str], *, console: Console, style: str = "") -> None:
    for line in lines:
        console.print(Text(visible(line), style=style))
