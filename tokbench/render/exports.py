"""A comparison in the forms that other programs read: JSON, CSV, Markdown, LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from tokbench.evaluation.documents import comparison_document
from tokbench.evaluation.figures import Figure
from tokbench.evaluation.ranking import best_of
from tokbench.metrics.catalogue import METRICS, metric_named
from tokbench.render.comparison import BEST, HEADLINES
from tokbench.render.figures import legend_of, shown, shown_difference, shown_gini, shown_premium

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.evaluation.comparison import Comparison, Judged
    from tokbench.metrics.catalogue import Metric

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

    Where lines are aligned, "premium" and "gini" stand behind the metrics.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    writer.writerows(_csv_rows(comparison, list(METRICS.values()) if metrics is None else metrics))
    return text.getvalue().encode()


def _csv_rows(comparison: Comparison, metrics: Sequence[Metric]) -> Iterator[list[object]]:
    for one in comparison.tokenizers:
        for metric in metrics:
            yield [one.name, "", metric.name, *_csv_figure(one.figures[metric.name])]
        for group, figures in one.groups.items():
            for metric in metrics:
                yield [one.name, group, metric.name, *_csv_figure(figures[metric.name])]
        yield from _csv_fairness(one)


def _csv_fairness(one: Judged) -> Iterator[list[object]]:
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
    """The figures on all text as a table; the best of each column in bold, with a mark."""
    chosen = _chosen(metrics)
    table = markdown_table(_head(comparison, chosen), list(_rows(comparison, chosen)))
    return table + "".join(f"\n{_markdown(line)}\n" for line in _below(comparison)).encode()


def as_latex(comparison: Comparison, *, metrics: Sequence[Metric] | None) -> bytes:
    """The same as a `tabular`, for the `booktabs` package."""
    chosen = _chosen(metrics)
    table = latex_table(_head(comparison, chosen), list(_rows(comparison, chosen)))
    return table + "".join(f"\n{_latex(line)}\n" for line in _below(comparison)).encode()


def _below(comparison: Comparison) -> tuple[str, ...]:
    """What stands below a table: what its marks mean, and what makes its figures look better than they are."""
    return (legend_of(comparison, mark=BEST), *comparison.provenance.warnings)


def markdown_table(head: Sequence[str], rows: Sequence[Row]) -> bytes:
    """A table whose first column is text; marked cells are bold."""
    lines = [_markdown_row(map(_markdown, head)), _markdown_row(["---", *("---:" for _ in head[1:])])]
    lines += [
        _markdown_row(f"**{_markdown(cell)}**" if marked else _markdown(cell) for cell, marked in row)
        for row in rows
    ]
    return ("\n".join(lines) + "\n").encode()


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown(text: str) -> str:
    return "".join(f"\\{character}" if character in _MARKDOWN else character for character in text)


def latex_table(head: Sequence[str], rows: Sequence[Row]) -> bytes:
    """The same as a `tabular`, for the `booktabs` package."""
    lines = [
        rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
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


def _latex_row(cells: Iterable[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _latex(text: str) -> str:
    return text.translate(_LATEX)


def _chosen(metrics: Sequence[Metric] | None) -> list[Metric]:
    return [metric_named(name) for name in HEADLINES] if metrics is None else list(metrics)


def _head(comparison: Comparison, metrics: Sequence[Metric]) -> list[str]:
    first, *others = [metric.title for metric in metrics]
    fair = ["max premium", "Gini"] if _has_fairness(comparison) else []
    return ["tokenizer", "entries", first, f"vs {comparison.baseline}", *others, *fair]


def _has_fairness(comparison: Comparison) -> bool:
    return all(one.fairness is not None for one in comparison.tokenizers)


def _rows(comparison: Comparison, metrics: Sequence[Metric]) -> Iterator[Row]:
    """For each tokenizer its name, its size and its figures, the best of each column marked."""
    best = {metric.name: best_of(comparison.tokenizers, metric) for metric in metrics}
    for one in comparison.tokenizers:
        row = [(one.name, False), (f"{one.contestant.tokenizer.info.vocab_size:,}", False)]
        for number, metric in enumerate(metrics):
            is_best = one.name == best[metric.name]
            value = shown(one.figures[metric.name].value, metric)
            row.append((value + (BEST if is_best else ""), is_best))
            if number == 0:
                is_baseline = one.name == comparison.baseline
                row.append(("–" if is_baseline else shown_difference(one, metric), False))
        if _has_fairness(comparison) and one.fairness is not None:
            worst = one.fairness.worst_language
            row.append(("–" if worst is None else f"{shown_premium(one, worst)} ({worst})", False))
            row.append((shown_gini(one), False))
        yield row
