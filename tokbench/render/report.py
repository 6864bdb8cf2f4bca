"""Reports for the terminal, section by section, and in forms for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from tokbench.evaluation.report import report_document
from tokbench.render import report_tables as tables
from tokbench.render.comparison import CSV_COLUMNS, csv_rows, notes_of
from tokbench.render.figures import model_of, names_of
from tokbench.render.glyphs import spelled, text_of
from tokbench.render.table import result_forms
from tokbench.render.terminal import print_lines, print_rows, write_condensed, write_grid, write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console

    from tokbench.evaluation.report import Report
    from tokbench.metrics.metric import Metric
    from tokbench.render.table import Forms, Table


def render_reports(
    reports: Sequence[Report], *, metrics: Sequence[Metric] | None = None, console: Console
) -> None:
    """Print one report after another."""
    for report in reports:
        render_report(report, metrics=metrics, console=console)
        if report is not reports[-1]:
            console.print()


def render_report(report: Report, *, metrics: Sequence[Metric] | None = None, console: Console) -> None:
    """Print all sections except empty ones; of the figures, only those of `metrics`."""
    comparison = report.comparison
    console.print(Text(tables.heading_of(report), style="bold"))
    print_lines(comparison.provenance.warnings, style="yellow", console=console)
    if comparison.interval_gap is not None:
        console.print(Text(comparison.interval_gap, style="dim"))
    for table in tables.figure_tables(report, metrics):
        _print_title(table, console=console)
        write_grid(table, console=console)
    groups = tables.groups_table(report, metrics)
    if groups is not None:
        _print_title(groups, console=console)
        write_table(groups, console=console)
        console.print(Text(names_of(tables.group_figures(metrics)), style="dim"))
        is_known = report.evaluated.fairness is not None
        console.print(Text(tables.premiums_of(report)), style=None if is_known else "dim")
    _print_section(tables.words_table(report), write_condensed, console=console)
    usage = tables.usage_table(report)
    _print_title(usage, console=console)
    write_table(usage, console=console)
    write_grid(tables.occurrences_table(report), console=console)
    _print_occurrences(report, console=console)
    _print_costs(report, console=console)


def _print_section(table: Table, write: Callable[..., None], *, console: Console) -> None:
    """Print a table below its title, unless it has no rows."""
    if table.rows:
        _print_title(table, console=console)
        write(table, console=console)


def _print_title(table: Table, *, console: Console) -> None:
    console.print()
    console.print(Text(table.caption, style="bold underline"))


def _print_occurrences(report: Report, *, console: Console) -> None:
    """Print token lengths, numbers, round-trip failures, and robustness to rewriting."""
    _print_section(tables.lengths_table(report), write_grid, console=console)
    _print_section(tables.numbers_table(report), write_table, console=console)
    _print_section(tables.failures_table(report), _print_failures, console=console)
    _print_section(tables.robustness_table(report), write_table, console=console)


def _print_failures(failures: Table, *, console: Console) -> None:
    """Print each document on three lines, as texts are too long to stand side by side."""
    titles = [column.title for column in failures.columns[2:]]
    for source, offset, *texts in failures.rows:
        console.print(Text(f"{source.text}, byte {offset.text}", style="yellow"))
        rows = ((title, Text(cell.text)) for title, cell in zip(titles, texts, strict=True))
        print_rows(rows, console=console)


def _print_costs(report: Report, *, console: Console) -> None:
    totals, by_group = tables.costs_table(report), tables.group_costs_table(report)
    if not totals.rows and not by_group.rows:
        return
    _print_title(totals, console=console)
    if totals.rows:
        write_grid(totals, console=console)
    model = model_of(report.cost.model)
    if model is not None:
        console.print(Text(model, style="dim"))
    if by_group.rows:
        write_table(by_group, console=console)


def reports_forms(reports: Sequence[Report], *, metrics: Sequence[Metric] | None = None) -> Forms:
    """Return the forms of reports: in JSON a list `reports` if there are several, in CSV rows below one header.

    Args:
        reports: at least one report.
        metrics: the figures to show, by default all.
    """
    return result_forms(
        json=lambda: _document(reports, metrics),
        csv=lambda: (CSV_COLUMNS, *(row for report in reports for row in _csv_rows(report, metrics))),
        parts=lambda: (part for report in reports for part in report_parts(report, metrics=metrics)),
    )


def _document(reports: Sequence[Report], metrics: Sequence[Metric] | None) -> dict[str, Any]:
    documents = [report_document(report, metrics=metrics) for report in reports]
    if len(documents) == 1:
        return documents[0]
    return {"schema": documents[0]["schema"], "reports": documents}


def report_parts(report: Report, *, metrics: Sequence[Metric] | None = None) -> Iterator[Table | str]:
    """Yield what a report is of, its tables, then its sentences; `metrics` as for `reports_forms`."""
    yield tables.heading_of(report)
    yield from tables.figure_tables(report, metrics)
    groups = tables.groups_table(report, metrics)
    if groups is not None:
        yield groups
    yield from tables.depth_tables(report)
    if report.comparison.interval_gap is not None:
        yield report.comparison.interval_gap
    if groups is not None:
        yield names_of(tables.group_figures(metrics))
        yield tables.premiums_of(report)
    model = model_of(report.cost.model)
    if model is not None:
        yield model
    yield from report.comparison.summary
    yield from notes_of(report.comparison)


def _csv_rows(report: Report, metrics: Sequence[Metric] | None) -> Iterator[Sequence[object]]:
    """Yield the rows of a comparison, followed by those of `_depth`, whose names contain a point."""
    yield from csv_rows(report.comparison, metrics=metrics)
    empty = (None,) * (len(CSV_COLUMNS) - 4)
    for group, name, value in _depth(report):
        yield (report.evaluated.name, group, name, value, *empty)


def _depth(report: Report) -> Iterator[tuple[str, str, float | None]]:
    """Yield rows of subject, name and value; the subject is, for instance, a kind of token, a word, or a document."""
    yield from _vocabulary(report)
    yield from _text(report)
    cost = report.cost
    for name in ("untied_bytes", "kv_cache_bytes", "attention_flops"):
        if getattr(cost, name) is not None:
            yield "", f"cost.{name}", getattr(cost, name)


def _vocabulary(report: Report) -> Iterator[tuple[str, str, float | None]]:
    for spent in report.vocabulary_usage:
        yield spent.kind, "vocabulary_usage.tokens", spent.tokens
        yield spent.kind, "vocabulary_usage.used", spent.used
        yield spent.kind, "vocabulary_usage.occurrences", spent.occurrences
    yield "", "tokens.unused", report.unused
    if report.intermediate_tokens is not None:
        yield "", "intermediate_tokens", report.intermediate_tokens
    for place, frequency in enumerate(report.deciles or ()):
        yield str(place), "tokens.decile", frequency
    for label, uses in (("most_used", report.most_used), ("least_used", report.least_used)):
        for use in uses:
            yield _spelled(use.piece), f"tokens.{label}", use.count


def _text(report: Report) -> Iterator[tuple[str, str, float | None]]:
    for group, words in report.evaluated.evaluation.worst_words.items():
        for word, tokens, _ in words:
            yield f"{group}: {_spelled(word)}", "words.tokens", tokens
    for length, count in enumerate(report.lengths):
        longest = length == len(report.lengths) - 1
        yield f"{length}{'+' * longest}", "lengths.tokens", count
    for numbers in report.numbers:
        yield numbers.label, "numbers.numbers", numbers.numbers
        yield numbers.label, "numbers.tokens", numbers.tokens
    for failure in report.evaluated.evaluation.failures:
        yield failure.source, "failures.byte", failure.offset
    for rewriting in report.robustness:
        yield rewriting.rewriting, "robustness.lines", rewriting.lines
        yield rewriting.rewriting, "robustness.growth", rewriting.growth
        yield rewriting.rewriting, "robustness.distance", rewriting.distance


def _spelled(data: bytes) -> str:
    return text_of(spelled(data))
