"""The tables of a report, shared by all output forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.wording import counted
from tokbench.evaluation.evaluated_tokenizer import groups_in_order
from tokbench.metrics.catalogue import METRICS, metric_named
from tokbench.render.figures import (
    model_totals,
    shown,
    shown_gini,
    shown_interval,
    shown_premium,
    text_cost_columns,
)
from tokbench.render.glyphs import spelled, text_of, visible
from tokbench.render.table import (
    NONE,
    Cell,
    Column,
    Table,
    count_cell,
    count_column,
    table_of_rows,
    text_cell,
    text_column,
    value_column,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.evaluation.report import Report, Use
    from tokbench.metrics.metric import Metric

GROUP_FIGURES = (
    "bytes_per_token",
    "tokens_per_word",
    "single_token_word_types",
    "character_coverage",
    "split_char_rate",
    "vocab_utilization",
)
"""The figures of groups that are shown by default."""
_WORDS_SHOWN = 3
"""Number of most fragmented words shown per group."""
_LONGEST_WORD_SHOWN = 60
"""Number of characters of a word that are shown."""
_THEMES = ("compression", "vocabulary", "fidelity", "numbers", "code")


def heading_of(report: Report) -> str:
    """Return a heading with the tokenizer, its engine, and the text."""
    info, comparison = report.evaluated.candidate.tokenizer.info, report.comparison
    return (
        f"{visible(report.evaluated.name)}: {info.backend}, {info.vocab_size:,} tokens, runs on {info.kernel}; "
        f"{counted(comparison.documents, 'document')}, {counted(comparison.num_bytes, 'byte')}"
    )


def premiums_of(report: Report) -> str:
    """Describe how evenly languages are served, or why that is not known."""
    fairness = report.evaluated.fairness
    if fairness is None:
        return f"no language premiums: {report.comparison.fairness_gap}"
    return (
        f"highest premium: {fairness.worst_language}, {fairness.max_premium or 0:.2f} times {fairness.reference} "
        f"on {fairness.complete_lines:,} aligned lines; Gini {shown_gini(report.evaluated)}"
    )


def figure_tables(report: Report, metrics: Sequence[Metric] | None = None) -> Iterator[Table]:
    """Yield a table per theme with the figures of its metrics on all text, by default of all metrics."""
    figures = report.evaluated.figures
    chosen = tuple(METRICS.values()) if metrics is None else metrics
    for theme in _THEMES:
        known = [
            metric for metric in chosen if metric.theme == theme and figures[metric.name].value is not None
        ]
        if not known:
            continue
        values = (
            Cell(shown(figures[metric.name].value, metric), figures[metric.name].value) for metric in known
        )
        intervals = (Cell(shown_interval(figures[metric.name], metric), style="dim") for metric in known)
        meanings = (f"{metric.name}: {metric.meaning}" for metric in known)
        yield Table(
            theme.capitalize(),
            (
                text_column("figure", (metric.title for metric in known)),
                Column("value", tuple(values)),
                Column("95 % interval", tuple(intervals), align="left"),
                text_column("meaning", meanings, style="dim", is_long=True),
            ),
        )


def groups_table(report: Report, metrics: Sequence[Metric] | None = None) -> Table | None:
    """Return a table with a row per group, the worst served first; None if there is only one group."""
    evaluated, fairness = report.evaluated, report.evaluated.fairness
    if len(evaluated.groups) < 2:
        return None
    groups = groups_in_order(evaluated, evaluated.groups, METRICS["bytes_per_token"])
    columns = [text_column("group", groups)]
    if fairness is not None:
        premiums = (Cell(shown_premium(evaluated, group), fairness.premiums.get(group)) for group in groups)
        title = f"over {visible(fairness.reference)}"
        columns.append(Column(title, tuple(premiums), meaning="tokens on the same lines"))
    for metric in group_figures(metrics):
        values = (evaluated.groups[group][metric.name].value for group in groups)
        cells = tuple(Cell(shown(value, metric), value) for value in values)
        columns.append(Column(metric.title, cells, name=metric.name, meaning=metric.meaning))
    return Table("Groups", tuple(columns))


def group_figures(metrics: Sequence[Metric] | None) -> Sequence[Metric]:
    """Return the metrics that groups are shown by: the chosen ones, if any."""
    return metrics or [metric_named(name) for name in GROUP_FIGURES]


def depth_tables(report: Report) -> Iterator[Table]:
    """Yield the non-empty tables that a report has in addition to a comparison."""
    tables = (
        words_table(report),
        usage_table(report),
        occurrences_table(report),
        lengths_table(report),
        numbers_table(report),
        failures_table(report),
        robustness_table(report),
        costs_table(report),
        group_costs_table(report),
    )
    return (table for table in tables if table.rows)


def words_table(report: Report) -> Table:
    """Return a table of the words with the most tokens in each group."""
    heads = (
        text_column("group"),
        text_column("word"),
        Column("tokens"),
        Column("occurrences", is_detail=True),
    )
    rows = (
        (text_cell(group), text_cell(_beginning(word)), count_cell(tokens), count_cell(occurrences))
        for group, words in report.evaluated.evaluation.worst_words.items()
        for word, tokens, occurrences in words[:_WORDS_SHOWN]
    )
    return table_of_rows("Most fragmented words", heads, rows)


def _beginning(word: bytes) -> str:
    """Return a word as text; of a long one, as a line without spaces can be, only the beginning."""
    text = word.decode(errors="replace")
    if len(text) <= _LONGEST_WORD_SHOWN:
        return text_of(spelled(word))
    return f"{text_of(spelled(text[:_LONGEST_WORD_SHOWN].encode()))}…"


def usage_table(report: Report) -> Table:
    """Return a table with a row per kind of token in the vocabulary, with bars of the tokens."""
    kinds = report.vocabulary_usage
    return Table(
        "Vocabulary by kind of token",
        (
            text_column("kind", (usage.kind for usage in kinds), is_long=True),
            count_column("tokens", (usage.tokens for usage in kinds)),
            count_column("used", (usage.used for usage in kinds)),
            count_column("occurrences", (usage.occurrences for usage in kinds)),
        ),
        bars=tuple(usage.tokens for usage in kinds),
        bars_title="tokens",
    )


def occurrences_table(report: Report) -> Table:
    """Return a table of the most and least frequent tokens, unused tokens, and deciles of frequency."""
    rows = [
        ("most used", _uses(report.most_used)),
        ("least used", _uses(report.least_used)),
        ("unused", text_cell(f"{counted(report.unused, 'token')} that text can reach")),
    ]
    if report.intermediate_tokens is not None:
        number = counted(report.intermediate_tokens, "token")
        rows.append(("intermediate", text_cell(f"{number} only inside larger ones on this text")))
    if report.deciles is not None:
        rows.append(("deciles", text_cell("  ".join(f"{frequency:,}" for frequency in report.deciles))))
    return Table(
        "Tokens by how often they occur",
        (
            text_column("tokens", (label for label, _ in rows), style="dim"),
            Column(
                "which",
                tuple(cell for _, cell in rows),
                first="ascending",
                align="left",
                is_long=True,
            ),
        ),
    )


def _uses(uses: Sequence[Use]) -> Cell:
    listed = tuple((text_of(spelled(use.piece)), f"{use.count:,}") for use in uses)
    text = "   ".join(" ".join(use) for use in listed) or NONE
    return Cell(text, text, listed=listed)


def lengths_table(report: Report) -> Table:
    """Return a table with a row per token length in bytes that occurs in the text."""
    longest = len(report.lengths) - 1
    found = [(length, count) for length, count in enumerate(report.lengths) if count]
    lengths = (Cell(f"{length}+" if length == longest else str(length), length) for length, _ in found)
    counts = [count for _, count in found]
    return Table(
        "Tokens by length in bytes",
        (Column("bytes", tuple(lengths), first="ascending"), count_column("tokens", counts)),
        bars=tuple(counts),
    )


def numbers_table(report: Report) -> Table:
    """Return a table with a row per number of digits."""
    numbers = report.numbers
    return Table(
        "Numbers by digits",
        (
            Column("digits", tuple(Cell(row.label, row.digits) for row in numbers), first="ascending"),
            count_column("numbers", (row.numbers for row in numbers)),
            value_column(
                "tokens/number", (row.tokens / row.numbers for row in numbers), lambda value: f"{value:.2f}"
            ),
        ),
        corner="digits",
    )


def failures_table(report: Report) -> Table:
    """Return a table of the first documents that do not round-trip, with the first differing byte."""
    failures = report.evaluated.evaluation.failures
    texts = {
        "text": [failure.expected for failure in failures],
        "decoded": [failure.found for failure in failures],
    }
    return Table(
        "First documents that do not round-trip",
        (
            text_column("document", (failure.source for failure in failures)),
            count_column("byte", (failure.offset for failure in failures), meaning="the first that differs"),
            *(
                text_column(title, (text_of(spelled(text.encode(errors="replace"))) for text in found))
                for title, found in texts.items()
            ),
        ),
    )


def robustness_table(report: Report) -> Table:
    """Return a table with a row per rewriting that changes some of the text."""
    found = [row for row in report.robustness if row.lines]
    return Table(
        "Robustness to rewriting",
        (
            text_column("written", (row.rewriting for row in found)),
            count_column("lines", (row.lines for row in found)),
            value_column(
                "tokens", (row.growth for row in found), lambda value: f"{(value - 1) * 100:+.1f} %"
            ),
            value_column(
                "ids changed", (row.distance for row in found), lambda value: f"{value * 100:.1f} %"
            ),
        ),
    )


def costs_table(report: Report) -> Table:
    """Return a table of the known costs of the vocabulary and of a full context."""
    rows = list(model_totals(report.cost))
    values = tuple(Cell(text, text) for _, text in rows)
    return Table("Model cost", (text_column("cost", (label for label, _ in rows)), Column("value", values)))


def group_costs_table(report: Report) -> Table:
    """Return a table of model costs by group; it has no rows if nothing is known."""
    columns = text_cost_columns(list(report.cost.groups.values()))
    names = text_column("group", report.cost.groups if columns else ())
    return Table("Model cost by group", (names, *columns))
