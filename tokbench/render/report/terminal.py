"""A report for the terminal: what one tokenizer does with a corpus, section by section."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.evaluation.ranking import in_order
from tokbench.metrics.catalogue import METRICS, metric_named
from tokbench.render.comparison.costs import group_cost_columns, model_of, model_totals
from tokbench.render.figures import bar, names_of, shown, shown_interval, shown_premium
from tokbench.render.glyphs import spelled, visible
from tokbench.render.layout import Column, grid, plain_table, print_panes, print_table
from tokbench.render.report.tables import GROUP_FIGURES, WORDS_SHOWN, heading_of, premiums_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.evaluation.report import Report, Use
    from tokbench.metrics.catalogue import Metric

_THEMES = {
    "compression": "Compression",
    "vocabulary": "Vocabulary",
    "fidelity": "Fidelity",
    "numbers": "Numbers",
    "code": "Code",
}
_BAR_WIDTH = 24
_NONE = "–"


def render_reports(
    reports: Sequence[Report], *, metrics: Sequence[Metric] | None = None, console: Console
) -> None:
    """One report behind another."""
    for report in reports:
        render_report(report, metrics=metrics, console=console)
        if report is not reports[-1]:
            console.print()


def render_report(report: Report, *, metrics: Sequence[Metric] | None = None, console: Console) -> None:
    """All sections, those without anything to say left out; of the figures, those of `metrics` alone."""
    evaluated, comparison = report.evaluated, report.comparison
    console.print(Text(heading_of(report), style="bold"))
    for warning in comparison.provenance.warnings:
        console.print(Text(visible(warning), style="yellow"))
    if comparison.interval_gap is not None:
        console.print(Text(comparison.interval_gap, style="dim"))
    _figures(evaluated, metrics=METRICS.values() if metrics is None else metrics, console=console)
    _groups(report, metrics=metrics or [metric_named(name) for name in GROUP_FIGURES], console=console)
    _words(evaluated, console=console)
    _vocabulary(report, console=console)
    _lengths(report, console=console)
    _numbers(report, console=console)
    _failures(evaluated, console=console)
    _robustness(report, console=console)
    _cost(report, console=console)


def _title(text: str, *, console: Console) -> None:
    console.print()
    console.print(Text(text, style="bold underline"))


def _figures(evaluated: EvaluatedTokenizer, *, metrics: Iterable[Metric], console: Console) -> None:
    chosen = tuple(metrics)
    for theme, title in _THEMES.items():
        rows = [
            metric
            for metric in chosen
            if metric.theme == theme and evaluated.figures[metric.name].value is not None
        ]
        if not rows:
            continue
        _title(title, console=console)
        table = grid("label", "label", "label", "text")
        for metric in rows:
            figure = evaluated.figures[metric.name]
            table.add_row(
                Text(metric.title),
                Text(shown(figure.value, metric), justify="right"),
                Text(shown_interval(figure, metric), style="dim"),
                Text(f"{metric.name}: {metric.meaning}", style="dim"),
            )
        print_table(table, console=console)


def _groups(report: Report, *, metrics: Sequence[Metric], console: Console) -> None:
    evaluated = report.evaluated
    fairness = evaluated.fairness
    if len(evaluated.groups) < 2:
        return
    _title("Groups", console=console)
    aligned = set() if fairness is None else set(fairness.premiums)
    headline = METRICS["bytes_per_token"]
    groups = [
        *in_order(evaluated, aligned, headline),
        *in_order(evaluated, set(evaluated.groups) - aligned, headline),
    ]
    columns = [
        Column(
            metric.title,
            tuple(Text(shown(evaluated.groups[group][metric.name].value, metric)) for group in groups),
        )
        for metric in metrics
    ]
    if fairness is not None:
        cells = tuple(Text(shown_premium(evaluated, group)) for group in groups)
        columns.insert(0, Column(f"over {visible(fairness.reference)}", cells))
    print_panes("", [Text(visible(group)) for group in groups], columns, console=console)
    console.print(Text(names_of(metrics), style="dim"))
    console.print(Text(premiums_of(report)), style=None if fairness is not None else "dim")


def _words(evaluated: EvaluatedTokenizer, *, console: Console) -> None:
    found = {group: words for group, words in evaluated.evaluation.worst_words.items() if words}
    if not found:
        return
    _title("Words that fall apart", console=console)
    table = grid("label", "text")
    for group, words in found.items():
        shown_words = (
            f"{''.join(glyph.text for glyph in spelled(word))} {tokens}"
            for word, tokens, _ in words[:WORDS_SHOWN]
        )
        table.add_row(Text(visible(group), style="dim"), Text("   ".join(shown_words)))
    print_table(table, console=console)


def _vocabulary(report: Report, *, console: Console) -> None:
    _title("What the vocabulary is spent on", console=console)
    table = plain_table("", ("entries", "right"), ("used", "right"), ("tokens", "right"), "")
    most = max((one.entries for one in report.vocabulary_usage), default=0)
    for one in report.vocabulary_usage:
        table.add_row(
            Text(one.kind),
            f"{one.entries:,}",
            f"{one.used:,}",
            f"{one.tokens:,}",
            Text(bar(one.entries, most, width=_BAR_WIDTH), style="cyan"),
        )
    print_table(table, console=console)
    lines = grid("label", "text")
    lines.add_row(Text("most used", style="dim"), _uses(report.most_used))
    lines.add_row(Text("least used", style="dim"), _uses(report.least_used))
    lines.add_row(Text("unused", style="dim"), Text(f"{report.unused:,} entries that text can reach"))
    if report.intermediate_tokens is not None:
        lines.add_row(
            Text("intermediate", style="dim"),
            Text(f"{report.intermediate_tokens:,} entries occur only inside larger ones on this text"),
        )
    if report.deciles is not None:
        lines.add_row(
            Text("deciles", style="dim"), Text("  ".join(f"{frequency:,}" for frequency in report.deciles))
        )
    print_table(lines, console=console)


def _uses(uses: Iterable[Use]) -> Text:
    parts = (f"{''.join(glyph.text for glyph in spelled(use.piece))} {use.count:,}" for use in uses)
    return Text("   ".join(parts) or _NONE)


def _lengths(report: Report, *, console: Console) -> None:
    if not any(report.lengths):
        return
    _title("Tokens by length in bytes", console=console)
    table = grid("label", "label", "label")
    most = max(report.lengths)
    for length, count in enumerate(report.lengths):
        if count:
            label = f"{length}" if length < len(report.lengths) - 1 else f"{length}+"
            table.add_row(
                Text(label, justify="right"),
                Text(f"{count:,}", justify="right"),
                Text(bar(count, most, width=_BAR_WIDTH), style="cyan"),
            )
    print_table(table, console=console)


def _numbers(report: Report, *, console: Console) -> None:
    if not report.numbers:
        return
    _title("Numbers by their digits", console=console)
    table = plain_table(("digits", "right"), ("numbers", "right"), ("tokens/number", "right"))
    for one in report.numbers:
        table.add_row(one.label, f"{one.numbers:,}", f"{one.tokens / one.numbers:.2f}")
    print_table(table, console=console)


def _failures(evaluated: EvaluatedTokenizer, *, console: Console) -> None:
    if not evaluated.evaluation.failures:
        return
    _title("Documents that do not decode to themselves, the first ones", console=console)
    for failure in evaluated.evaluation.failures:
        console.print(Text(f"{visible(failure.source)}, byte {failure.offset:,}", style="yellow"))
        table = grid("label", "text")
        for label, text in (("text", failure.expected), ("decoded", failure.found)):
            table.add_row(
                Text(label, style="dim"),
                Text("".join(glyph.text for glyph in spelled(text.encode(errors="replace")))),
            )
        print_table(table, console=console)


def _robustness(report: Report, *, console: Console) -> None:
    if not any(one.lines for one in report.robustness):
        return
    _title("The same text, written otherwise", console=console)
    table = plain_table("", ("lines", "right"), ("tokens", "right"), ("ids changed", "right"))
    for one in report.robustness:
        growth = _NONE if one.growth is None else f"{(one.growth - 1) * 100:+.1f} %"
        distance = _NONE if one.distance is None else f"{one.distance * 100:.1f} %"
        table.add_row(Text(one.rewriting), f"{one.lines:,}", growth, distance)
    print_table(table, console=console)


def _cost(report: Report, *, console: Console) -> None:
    totals = list(model_totals(report.cost))
    columns = [
        Column(column.title, tuple(Text(cell) for cell in column.cells))
        for column in group_cost_columns(report.cost)
    ]
    if not totals and not columns:
        return
    _title("What it costs the model", console=console)
    if totals:
        table = grid("label", "label")
        for label, shown in totals:
            table.add_row(Text(label), Text(shown, justify="right"))
        print_table(table, console=console)
    model = model_of(report.cost.model)
    if model is not None:
        console.print(Text(model, style="dim"))
    if columns:
        groups = [Text(visible(group)) for group in report.cost.groups]
        print_panes("", groups, columns, console=console)
