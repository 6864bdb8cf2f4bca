"""A report in the forms that other programs read: JSON, CSV, Markdown, LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.evaluation.report_json import report_document
from tokbench.render.comparison.exports import CSV_COLUMNS, csv_rows
from tokbench.render.comparison.terminal import notes_of
from tokbench.render.costs import model_of
from tokbench.render.exports import result_forms
from tokbench.render.figures import names_of
from tokbench.render.glyphs import spelled, text_of
from tokbench.render.report import tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.evaluation.report import Report
    from tokbench.metrics.metric import Metric
    from tokbench.render.exports import Forms
    from tokbench.render.table import Table


def reports_forms(reports: Sequence[Report], *, metrics: Sequence[Metric] | None = None) -> Forms:
    """Reports one behind another, in JSON as `reports`, as CSV under one head.

    Args:
        reports: at least one.
        metrics: the figures that are shown, by default all.
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
    """The tables of a report, then its sentences; `metrics` as for `report_forms`."""
    yield from tables.figure_tables(report, metrics)
    groups = tables.groups_table(report, metrics)
    if groups is not None:
        yield groups
    yield from tables.depth_tables(report)
    yield tables.heading_of(report)
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
    """The rows of a comparison, and behind them those of `_depth`, whose names have a point in them."""
    yield from csv_rows(report.comparison, metrics=metrics)
    empty = (None,) * (len(CSV_COLUMNS) - 4)
    for group, name, value in _depth(report):
        yield (report.evaluated.name, group, name, value, *empty)


def _depth(report: Report) -> Iterator[tuple[str, str, float | None]]:
    """Rows of subject, name and value: for vocabulary usage the kind, for words the word, and so on."""
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
    for one in report.numbers:
        yield one.label, "numbers.numbers", one.numbers
        yield one.label, "numbers.tokens", one.tokens
    for failure in report.evaluated.evaluation.failures:
        yield failure.source, "failures.byte", failure.offset
    for rewriting in report.robustness:
        yield rewriting.rewriting, "robustness.lines", rewriting.lines
        yield rewriting.rewriting, "robustness.growth", rewriting.growth
        yield rewriting.rewriting, "robustness.distance", rewriting.distance


def _spelled(data: bytes) -> str:
    return text_of(spelled(data))
