"""A comparison in the forms that other programs read: JSON, CSV, Markdown, LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from tokbench.evaluation.comparison_json import comparison_document
from tokbench.evaluation.figures import Figure
from tokbench.metrics.catalogue import METRICS
from tokbench.render.comparison.columns import BEST, headline_of, legend_lines
from tokbench.render.comparison.costs import cost_columns, text_cost_columns
from tokbench.render.comparison.tables import (
    groups_table,
    mix_table,
    premiums_table,
    summary_columns,
    tokenizers_table,
)
from tokbench.render.comparison.terminal import notes_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.metrics.catalogue import Metric
    from tokbench.render.cells import Table

Form = Literal["terminal", "json", "csv", "markdown", "latex"]
Row = Sequence[tuple[str, bool]]
"""The cells of a line, each with whether it is marked."""

CSV_COLUMNS = (
    "tokenizer",
    "group",
    "metric",
    "value",
    "low",
    "high",
    "difference",
    "difference_low",
    "difference_high",
)

_MARKDOWN = r"\`*_{}[]<>()#+!|"
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "_": r"\_",
        "%": r"\%",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
        "≈": r"$\approx$",
        "…": r"\ldots{}",
    }
)


def as_json(comparison: Comparison, *, metrics: Sequence[Metric] | None) -> bytes:
    """One document on a line; see `comparison_document`."""
    import orjson

    return orjson.dumps(comparison_document(comparison, metrics=metrics)) + b"\n"


def as_csv(comparison: Comparison, *, metrics: Sequence[Metric] | None) -> bytes:
    """A line for each tokenizer, group and metric; all text is the group without a name.

    Behind the metrics stand "premium" and "gini" where lines are aligned, "relative_tokens", the mix and the costs.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    writer.writerows(csv_rows(comparison, metrics=metrics))
    return text.getvalue().encode()


def csv_rows(comparison: Comparison, *, metrics: Sequence[Metric] | None) -> Iterator[list[object]]:
    """The lines of `as_csv`, without its head."""
    chosen = list(METRICS.values()) if metrics is None else metrics
    for one in comparison.tokenizers:
        for metric in chosen:
            yield [one.name, "", metric.name, *_csv_figure(one.figures[metric.name])]
        for group, figures in one.groups.items():
            for metric in chosen:
                yield [one.name, group, metric.name, *_csv_figure(figures[metric.name])]
        yield from _csv_fairness(one)
        if len(comparison.tokenizers) > 1:
            yield [one.name, "", "relative_tokens", *_csv_figure(one.relative)]
        if one.mixed is not None:
            yield [one.name, str(comparison.mix), "tokens_per_byte", *_csv_figure(one.mixed.tokens_per_byte)]
        yield from _csv_costs(one)


def _csv_costs(one: EvaluatedTokenizer) -> Iterator[list[object]]:
    """What is known of its costs: of all text, then of each group."""
    for column in cost_columns([one.cost]):
        yield [one.name, "", column.name, *_csv_figure(Figure(column.values[0]))]
    for group, cost in one.cost.groups.items():
        for column in text_cost_columns([cost]):
            yield [one.name, group, column.name, *_csv_figure(Figure(column.values[0]))]


def _csv_fairness(one: EvaluatedTokenizer) -> Iterator[list[object]]:
    """Premiums and the Gini coefficient: figures without a difference."""
    if one.fairness is None:
        return
    for language, premium in one.fairness.premiums.items():
        figure = Figure(premium, one.fairness.premium_interval(language))
        yield [one.name, language, "premium", *_csv_figure(figure)]
    yield [one.name, "", "gini", *_csv_figure(Figure(one.fairness.gini, one.fairness.gini_interval))]


def _csv_figure(figure: Figure) -> list[float | None]:
    return [
        figure.value,
        *(figure.interval or (None, None)),
        figure.difference,
        *(figure.difference_interval or (None, None)),
    ]


def as_markdown(comparison: Comparison, *, metrics: Sequence[Metric] | None) -> bytes:
    """The tables and sentences of the terminal; the best of each column in bold, with a mark."""
    tables = [markdown_of(table) for table in _tables(comparison, metrics)]
    return b"\n".join([*tables, markdown_notes(_notes(comparison, metrics))])


def as_latex(comparison: Comparison, *, metrics: Sequence[Metric] | None) -> bytes:
    """The same as `tabular`s, for the `booktabs` package."""
    tables = [latex_of(table) for table in _tables(comparison, metrics)]
    return b"\n".join([*tables, latex_notes(_notes(comparison, metrics))])


def _tables(comparison: Comparison, metrics: Sequence[Metric] | None) -> Iterator[Table]:
    """The tokenizers, the languages, the groups and the mix, as far as the terminal shows them."""
    columns = summary_columns(comparison, metrics=metrics, times=metrics is None)
    yield tokenizers_table(comparison, columns, caption="")
    if len(comparison.tokenizers[0].groups) > 1:
        premiums = premiums_table(comparison)
        if premiums is not None:
            yield premiums
        yield groups_table(comparison, headline_of(metrics))
    mix = mix_table(comparison)
    if mix is not None:
        yield mix


def _notes(comparison: Comparison, metrics: Sequence[Metric] | None) -> Iterator[str]:
    columns = summary_columns(comparison, metrics=metrics, times=metrics is None)
    yield from legend_lines(comparison, columns, mark=BEST)
    if comparison.fairness_gap is not None and len(comparison.tokenizers[0].groups) > 1:
        yield f"no premium of languages: {comparison.fairness_gap}"
    yield from (*comparison.summary, *comparison.mix_summary)
    yield from notes_of(comparison)


def markdown_of(table: Table) -> bytes:
    """A table with its caption before it, where it has one."""
    head = f"{_markdown(table.caption)}\n\n".encode() if table.caption else b""
    return head + markdown_table(
        [column.title for column in table.columns], _marked(table), texts=_texts(table)
    )


def latex_of(table: Table) -> bytes:
    """The same."""
    head = f"{_latex(table.caption)}\n\n".encode() if table.caption else b""
    return head + latex_table([column.title for column in table.columns], _marked(table), texts=_texts(table))


def _texts(table: Table) -> set[int]:
    """The columns of text: the first, and those whose cells are sorted as text."""
    return {
        place
        for place, cells in enumerate(zip(*table.rows, strict=True))
        if place == 0 or all(isinstance(cell.value, str) for cell in cells)
    }


def _marked(table: Table) -> list[Row]:
    return [[(f"{cell.text}{BEST if cell.best else ''}", cell.best) for cell in row] for row in table.rows]


def markdown_table(head: Sequence[str], rows: Sequence[Row], *, texts: Collection[int] = (0,)) -> bytes:
    """A table whose columns of text, by default the first, stand on the left; marked cells are bold."""
    rule = ("---" if place in texts else "---:" for place in range(len(head)))
    lines = [_markdown_row(map(_markdown, head)), _markdown_row(rule)]
    lines += [
        _markdown_row(f"**{_markdown(cell)}**" if marked else _markdown(cell) for cell, marked in row)
        for row in rows
    ]
    return ("\n".join(lines) + "\n").encode()


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown(text: str) -> str:
    return "".join(f"\\{character}" if character in _MARKDOWN else character for character in text)


def latex_table(head: Sequence[str], rows: Sequence[Row], *, texts: Collection[int] = (0,)) -> bytes:
    """The same as a `tabular`, for the `booktabs` package."""
    columns = "".join("l" if place in texts else "r" for place in range(len(head)))
    lines = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _latex_row(map(_latex, head)),
        r"\midrule",
        *(
            _latex_row(rf"\textbf{{{_latex(cell)}}}" if marked else _latex(cell) for cell, marked in row)
            for row in rows
        ),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return ("\n".join(lines) + "\n").encode()


def markdown_notes(lines: Iterable[str]) -> bytes:
    """Sentences, a paragraph each."""
    return "\n".join(f"{_markdown(line)}\n" for line in lines).encode()


def latex_notes(lines: Iterable[str]) -> bytes:
    """The same."""
    return "\n".join(f"{_latex(line)}\n" for line in lines).encode()


def _latex_row(cells: Iterable[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _latex(text: str) -> str:
    return text.translate(_LATEX)
