"""A report in the forms that other programs read: JSON, CSV, Markdown, LaTeX."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from tokbench.evaluation.comparison_json import comparison_document
from tokbench.evaluation.costs import cost_document
from tokbench.metrics.catalogue import metric_named
from tokbench.render.comparison.costs import model_of
from tokbench.render.comparison.exports import (
    CSV_COLUMNS,
    csv_rows,
    latex_notes,
    latex_of,
    markdown_notes,
    markdown_of,
)
from tokbench.render.comparison.terminal import notes_of
from tokbench.render.figures import names_of
from tokbench.render.report.tables import (
    GROUP_FIGURES,
    heading_of,
    premiums_of,
    report_tables,
    spelled_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tokbench.evaluation.report import Report, Use
    from tokbench.metrics.catalogue import Metric
    from tokbench.render.comparison.exports import Form


def reports_forms(
    reports: Sequence[Report], *, metrics: Sequence[Metric] | None = None
) -> dict[Form, Callable[[], bytes]]:
    """Reports in the forms of one: several are one behind another, in JSON as `reports`, as CSV under one head."""
    forms = [report_forms(report, metrics=metrics) for report in reports]
    if len(forms) == 1:
        return forms[0]

    def joined(form: Form) -> bytes:
        first, *others = [each[form]() for each in forms]
        if form == "csv":
            others = [other.partition(b"\n")[2] for other in others]
        return (b"" if form == "csv" else b"\n").join([first, *others])

    return {
        "json": lambda: _together(reports, metrics=metrics),
        "csv": lambda: joined("csv"),
        "markdown": lambda: joined("markdown"),
        "latex": lambda: joined("latex"),
    }


def _together(reports: Sequence[Report], *, metrics: Sequence[Metric] | None) -> bytes:
    import orjson

    documents = [report_document(report, metrics=metrics) for report in reports]
    return orjson.dumps({"schema": documents[0]["schema"], "reports": documents}) + b"\n"


def report_forms(
    report: Report, *, metrics: Sequence[Metric] | None = None
) -> dict[Form, Callable[[], bytes]]:
    """A report in the forms that other programs read; of the figures, those of `metrics` alone."""
    return {
        "json": lambda: _json(report, metrics=metrics),
        "csv": lambda: report_csv(report, metrics=metrics),
        "markdown": lambda: b"\n".join(
            [
                *(markdown_of(table) for table in report_tables(report, metrics=metrics)),
                markdown_notes(_notes(report, metrics)),
            ]
        ),
        "latex": lambda: b"\n".join(
            [
                *(latex_of(table) for table in report_tables(report, metrics=metrics)),
                latex_notes(_notes(report, metrics)),
            ]
        ),
    }


def _notes(report: Report, metrics: Sequence[Metric] | None) -> Iterator[str]:
    yield heading_of(report)
    if report.comparison.interval_gap is not None:
        yield report.comparison.interval_gap
    if len(report.evaluated.groups) > 1:
        yield names_of([metric_named(name) for name in GROUP_FIGURES] if metrics is None else metrics)
        yield premiums_of(report)
    model = model_of(report.cost.model)
    if model is not None:
        yield model
    yield from report.comparison.summary
    yield from notes_of(report.comparison)


def report_csv(report: Report, *, metrics: Sequence[Metric] | None = None) -> bytes:
    """The lines of a comparison, and behind them those of `_depth`, whose names have a point in them."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    writer.writerows(csv_rows(report.comparison, metrics=metrics))
    empty = [None] * (len(CSV_COLUMNS) - 4)
    for group, name, value in _depth(report):
        writer.writerow([report.evaluated.name, group, name, value, *empty])
    return text.getvalue().encode()


def _depth(report: Report) -> Iterator[tuple[str, str, float | None]]:
    """What it is of, what it is, and the value: for vocabulary usage the kind, for words the word and so on."""
    yield from _vocabulary(report)
    yield from _text(report)
    cost = report.cost
    for name in ("untied_bytes", "kv_cache_bytes", "attention_flops"):
        if getattr(cost, name) is not None:
            yield "", f"cost.{name}", getattr(cost, name)


def _vocabulary(report: Report) -> Iterator[tuple[str, str, float | None]]:
    for spent in report.vocabulary_usage:
        yield spent.kind, "vocabulary_usage.entries", spent.entries
        yield spent.kind, "vocabulary_usage.used", spent.used
        yield spent.kind, "vocabulary_usage.tokens", spent.tokens
    yield "", "entries.unused", report.unused
    if report.intermediate_tokens is not None:
        yield "", "intermediate_tokens", report.intermediate_tokens
    for place, frequency in enumerate(report.deciles or ()):
        yield str(place), "entries.decile", frequency
    for label, uses in (("most_used", report.most_used), ("least_used", report.least_used)):
        for use in uses:
            yield spelled_text(use.piece), f"entries.{label}", use.count


def _text(report: Report) -> Iterator[tuple[str, str, float | None]]:
    for group, words in report.evaluated.evaluation.worst_words.items():
        for word, tokens, _ in words:
            yield f"{group}: {spelled_text(word)}", "words.tokens", tokens
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


def _json(report: Report, *, metrics: Sequence[Metric] | None = None) -> bytes:
    import orjson

    return orjson.dumps(report_document(report, metrics=metrics)) + b"\n"


def report_document(report: Report, *, metrics: Sequence[Metric] | None = None) -> dict[str, Any]:
    """As `--json` prints it: schema tokbench.report/1, the comparison's figures with all that follows.

    With `metrics`, the same with these metrics alone.
    """
    compared = comparison_document(report.comparison, metrics=metrics)
    return {
        **{key: value for key, value in compared.items() if key not in ("baseline", "tokenizers", "summary")},
        "schema": "tokbench.report/1",
        "tokenizer": compared["tokenizers"][0],
        "most_used": [_use(use) for use in report.most_used],
        "least_used": [_use(use) for use in report.least_used],
        "unused": report.unused,
        "deciles": report.deciles,
        "lengths": report.lengths,
        "vocabulary_usage": [
            {"kind": one.kind, "entries": one.entries, "used": one.used, "tokens": one.tokens}
            for one in report.vocabulary_usage
        ],
        "intermediate_tokens": report.intermediate_tokens,
        "numbers": [
            {
                "digits": one.digits,
                "or_more": one.or_more,
                "numbers": one.numbers,
                "tokens": one.tokens,
            }
            for one in report.numbers
        ],
        "worst_words": {
            group: [
                {"word": word.decode(errors="replace"), "tokens": tokens, "occurrences": count}
                for word, tokens, count in words
            ]
            for group, words in report.evaluated.evaluation.worst_words.items()
        },
        "robustness": [
            {
                "rewriting": one.rewriting,
                "lines": one.lines,
                "growth": one.growth,
                "distance": one.distance,
            }
            for one in report.robustness
        ],
        "cost": cost_document(report.cost),
    }


def _use(use: Use) -> dict[str, Any]:
    return {
        "id": use.id,
        "piece": use.piece.decode(errors="replace"),
        "bytes": use.piece.hex(),
        "count": use.count,
    }
