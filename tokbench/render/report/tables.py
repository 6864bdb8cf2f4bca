"""A report in tables, for every form but the terminal: what it shows section by section, in the same order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.plurals import counted
from tokbench.evaluation.ranking import in_order
from tokbench.metrics.catalogue import METRICS, metric_named
from tokbench.render.cells import NONE, Cell, Column, Table, count_cell, name_cell, number_cell
from tokbench.render.comparison.costs import group_cost_columns, model_totals
from tokbench.render.figures import shown, shown_gini, shown_interval, shown_premium
from tokbench.render.glyphs import spelled, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.evaluation.report import Report, Use
    from tokbench.metrics.catalogue import Metric

GROUP_FIGURES = (
    "bytes_per_token",
    "tokens_per_word",
    "single_token_word_types",
    "character_coverage",
    "split_char_rate",
    "vocab_utilization",
)
"""The figures of groups where nothing else is asked for."""
WORDS_SHOWN = 3
"""Words that fall apart, of each group."""


def heading_of(report: Report) -> str:
    """The tokenizer, what runs it, and the text."""
    info, comparison = report.evaluated.candidate.tokenizer.info, report.comparison
    return (
        f"{visible(report.evaluated.name)}: {info.backend}, {info.vocab_size:,} entries, runs on {info.kernel}; "
        f"{counted(comparison.documents, 'document')}, {comparison.num_bytes:,} bytes"
    )


def premiums_of(report: Report) -> str:
    """How evenly languages are served, or why that is not known."""
    fairness = report.evaluated.fairness
    if fairness is None:
        return f"no premium of languages: {report.comparison.fairness_gap}"
    return (
        f"dearest: {fairness.worst_language}, {fairness.max_premium or 0:.2f} times {fairness.reference} "
        f"on {fairness.complete_lines:,} aligned lines; Gini {shown_gini(report.evaluated)}"
    )


def report_tables(report: Report, *, metrics: Sequence[Metric] | None = None) -> Iterator[Table]:
    """Every section that has something to say: figures and groups, then `depth_tables`."""
    yield _figures(report, list(METRICS.values()) if metrics is None else metrics)
    if len(report.evaluated.groups) > 1:
        yield _groups(report, [metric_named(name) for name in GROUP_FIGURES] if metrics is None else metrics)
    yield from depth_tables(report)


def depth_tables(report: Report) -> Iterator[Table]:
    """What a report has beyond a comparison."""
    tables = (
        _words(report),
        _spending(report),
        _use(report),
        _lengths(report),
        _numbers(report),
        _failures(report),
        _robustness(report),
        _totals(report),
        _group_costs(report),
    )
    return (table for table in tables if table.rows)


def _figures(report: Report, metrics: Sequence[Metric]) -> Table:
    figures = report.evaluated.figures
    return Table(
        caption="Figures on all text",
        columns=(
            Column("figure", first="ascending"),
            Column("value"),
            Column("95 % interval"),
            Column("meaning", first="ascending"),
        ),
        rows=tuple(
            (
                name_cell(metric.name),
                Cell(shown(figures[metric.name].value, metric), figures[metric.name].value),
                Cell(shown_interval(figures[metric.name], metric), None),
                Cell(metric.meaning, metric.meaning),
            )
            for metric in metrics
            if figures[metric.name].value is not None
        ),
    )


def _groups(report: Report, metrics: Sequence[Metric]) -> Table:
    evaluated, fairness = report.evaluated, report.evaluated.fairness
    aligned = set() if fairness is None else set(fairness.premiums)
    headline = METRICS["bytes_per_token"]
    groups = (
        *in_order(evaluated, aligned, headline),
        *in_order(evaluated, set(evaluated.groups) - aligned, headline),
    )
    premiums = {} if fairness is None else fairness.premiums
    over = (
        []
        if fairness is None
        else [Column(f"over {visible(fairness.reference)}", "tokens on the same lines")]
    )
    return Table(
        caption="Groups",
        columns=(
            Column("group", first="ascending"),
            *over,
            *(Column(metric.title, f"{metric.name}: {metric.meaning}") for metric in metrics),
        ),
        rows=tuple(
            (
                name_cell(group),
                *(Cell(shown_premium(evaluated, group), premiums.get(group)) for _ in over),
                *(
                    Cell(shown(value, metric), value)
                    for metric in metrics
                    for value in (evaluated.groups[group][metric.name].value,)
                ),
            )
            for group in groups
        ),
    )


def _words(report: Report) -> Table:
    return Table(
        caption="Words that fall apart",
        columns=(Column("group", first="ascending"), Column("word"), Column("tokens"), Column("occurrences")),
        rows=tuple(
            (name_cell(group), name_cell(spelled_text(word)), count_cell(tokens), count_cell(occurrences))
            for group, words in report.evaluated.evaluation.worst_words.items()
            for word, tokens, occurrences in words[:WORDS_SHOWN]
        ),
    )


def _spending(report: Report) -> Table:
    return Table(
        caption="What the vocabulary is spent on",
        columns=(Column("kind", first="ascending"), Column("entries"), Column("used"), Column("tokens")),
        rows=tuple(
            (name_cell(one.kind), count_cell(one.entries), count_cell(one.used), count_cell(one.tokens))
            for one in report.vocabulary_usage
        ),
    )


def _use(report: Report) -> Table:
    rows = [
        ("unused", f"{report.unused:,} entries that text can reach"),
        ("most used", _uses(report.most_used)),
        ("least used", _uses(report.least_used)),
    ]
    if report.intermediate_tokens is not None:
        rows.append(
            (
                "intermediate",
                f"{report.intermediate_tokens:,} entries occur only inside larger ones on this text",
            )
        )
    if report.deciles is not None:
        rows.append(("deciles", "  ".join(f"{frequency:,}" for frequency in report.deciles)))
    return Table(
        caption="Entries by how often they occur",
        columns=(Column("entries", first="ascending"), Column("which", first="ascending")),
        rows=tuple((name_cell(label), Cell(text, text)) for label, text in rows),
    )


def _uses(uses: Sequence[Use]) -> str:
    return "   ".join(f"{spelled_text(use.piece)} {use.count:,}" for use in uses) or NONE


def _lengths(report: Report) -> Table:
    longest = len(report.lengths) - 1
    return Table(
        caption="Tokens by length in bytes",
        columns=(Column("bytes", first="ascending"), Column("tokens")),
        rows=tuple(
            (Cell(f"{length}+" if length == longest else str(length), length), count_cell(count))
            for length, count in enumerate(report.lengths)
            if count
        ),
    )


def _numbers(report: Report) -> Table:
    return Table(
        caption="Numbers by their digits",
        columns=(Column("digits", first="ascending"), Column("numbers"), Column("tokens/number")),
        rows=tuple(
            (
                Cell(one.label, one.digits),
                count_cell(one.numbers),
                Cell(f"{one.tokens / one.numbers:.2f}", one.tokens / one.numbers),
            )
            for one in report.numbers
        ),
    )


def _failures(report: Report) -> Table:
    return Table(
        caption="Documents that do not decode to themselves, the first ones",
        columns=(
            Column("document", first="ascending"),
            Column("byte", "the first that differs"),
            Column("text", first="ascending"),
            Column("decoded", first="ascending"),
        ),
        rows=tuple(
            (
                name_cell(one.source),
                count_cell(one.offset),
                *(
                    name_cell(spelled_text(text.encode(errors="replace")))
                    for text in (one.expected, one.found)
                ),
            )
            for one in report.evaluated.evaluation.failures
        ),
    )


def _robustness(report: Report) -> Table:
    return Table(
        caption="The same text, written otherwise",
        columns=(
            Column("written", first="ascending"),
            Column("lines"),
            Column("tokens"),
            Column("ids changed"),
        ),
        rows=tuple(
            (
                name_cell(one.rewriting),
                count_cell(one.lines),
                number_cell(one.growth, f"{((one.growth or 0) - 1) * 100:+.1f} %"),
                number_cell(one.distance, f"{(one.distance or 0) * 100:.1f} %"),
            )
            for one in report.robustness
            if one.lines
        ),
    )


def _totals(report: Report) -> Table:
    return Table(
        caption="What it costs the model",
        columns=(Column("cost", first="ascending"), Column("value")),
        rows=tuple((name_cell(label), name_cell(text)) for label, text in model_totals(report.cost)),
    )


def _group_costs(report: Report) -> Table:
    columns = list(group_cost_columns(report.cost))
    return Table(
        caption="What the text of each group costs",
        columns=(
            Column("group", first="ascending"),
            *(Column(column.title, f"{column.name}: {column.meaning}") for column in columns),
        ),
        rows=tuple(
            (name_cell(group), *(Cell(column.cells[place], column.values[place]) for column in columns))
            for place, group in enumerate(report.cost.groups)
        )
        if columns
        else (),
    )


def spelled_text(data: bytes) -> str:
    """The bytes of an entry or a word, with stand-ins for what has no look of its own."""
    return "".join(glyph.text for glyph in spelled(data))
