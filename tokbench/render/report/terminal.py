"""A report for the terminal: what one tokenizer does with a corpus, section by section."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.render.costs import model_of
from tokbench.render.figures import names_of
from tokbench.render.report import tables
from tokbench.render.terminal import print_lines, print_rows, write_condensed, write_grid, write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from tokbench.evaluation.report import Report
    from tokbench.metrics.metric import Metric
    from tokbench.render.table import Table


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
    """A table below its title, where it has rows."""
    if table.rows:
        _print_title(table, console=console)
        write(table, console=console)


def _print_title(table: Table, *, console: Console) -> None:
    console.print()
    console.print(Text(table.caption, style="bold underline"))


def _print_occurrences(report: Report, *, console: Console) -> None:
    """Lengths, numbers, what does not decode to itself, and the text written otherwise."""
    _print_section(tables.lengths_table(report), write_grid, console=console)
    _print_section(tables.numbers_table(report), write_table, console=console)
    _print_section(tables.failures_table(report), _print_failures, console=console)
    _print_section(tables.robustness_table(report), write_table, console=console)


def _print_failures(failures: Table, *, console: Console) -> None:
    """A document on three lines: texts are too long to stand side by side."""
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
