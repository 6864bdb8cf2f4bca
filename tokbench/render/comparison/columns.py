"""The figures of a comparison in columns, the same in every form: what they are called, and how they are shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tokbench.evaluation.ranking import best_of
from tokbench.evaluation.sentences import significant
from tokbench.metrics.catalogue import metric_named
from tokbench.render.comparison.costs import cost_columns, model_of
from tokbench.render.figures import (
    legend_of,
    names_of,
    shown,
    shown_difference,
    shown_figure,
    shown_gini,
    shown_premium,
    shown_relative,
    with_interval,
)
from tokbench.render.glyphs import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
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
PEAK = "peak"
_NONE = "–"
_COMPRESSION = "bytes_per_token"


@dataclass(frozen=True, slots=True)
class FigureColumn:
    """A figure of every tokenizer.

    Attributes:
        title: the head.
        cells: as they are shown.
        values: what they are sorted by; None where there is none.
        meaning: more of the head.
        first: which way sorting begins.
        best: the place of the best, where it can be told from the next; None where not.
        metric: whose it is, where it is a metric's.
    """

    title: str
    cells: tuple[str, ...]
    values: tuple[float | None, ...]
    meaning: str = ""
    first: Literal["ascending", "descending"] = "descending"
    best: int | None = None
    metric: Metric | None = field(default=None, repr=False)


def chosen_or_headlines(metrics: Sequence[Metric] | None) -> list[Metric]:
    """The metrics that were chosen, by default those that matter most."""
    return [metric_named(name) for name in HEADLINES] if metrics is None else list(metrics)


def headline_of(metrics: Sequence[Metric] | None) -> Metric:
    """The metric that groups are shown by: the first one with a direction."""
    chosen = chosen_or_headlines(metrics)
    return next((metric for metric in chosen if metric.direction != "neither"), chosen[0])


def comparison_columns(
    comparison: Comparison, *, metrics: Sequence[Metric] | None, times: bool
) -> Iterator[FigureColumn]:
    """The size, the metrics, what is relative to the baseline, and what is known of costs and times.

    Args:
        comparison: what was found.
        metrics: by default those that matter most.
        times: whether to tell what opening, training and encoding took.
    """
    evaluated = comparison.tokenizers
    sizes = [one.candidate.tokenizer.info.vocab_size for one in evaluated]
    yield FigureColumn(
        "entries",
        tuple(f"{size:,}" for size in sizes),
        tuple(sizes),
        meaning="vocabulary size, special tokens included",
    )
    for number, metric in enumerate(chosen_or_headlines(metrics)):
        # Of several the differences have one: those of the figures say little of which is better.
        yield _metric_column(evaluated, metric, with_intervals=number == 0 and len(evaluated) == 1)
        if number == 0 and len(evaluated) > 1:
            yield _difference_column(comparison, metric)
        if metric.name == _COMPRESSION and len(evaluated) > 1:
            yield _relative_column(comparison)
    for cost in cost_columns([one.cost for one in evaluated]):
        yield FigureColumn(cost.title, cost.cells, cost.values, meaning=cost.meaning, first="ascending")
    if times:
        yield from _time_columns(evaluated)


def _metric_column(
    evaluated: Sequence[EvaluatedTokenizer], metric: Metric, *, with_intervals: bool
) -> FigureColumn:
    figures = [one.figures[metric.name] for one in evaluated]
    best = best_of(evaluated, metric)
    better = {"higher": "; more is better", "lower": "; less is better"}.get(metric.direction, "")
    return FigureColumn(
        metric.title,
        tuple(
            shown_figure(figure, metric) if with_intervals else shown(figure.value, metric)
            for figure in figures
        ),
        tuple(figure.value for figure in figures),
        meaning=f"{metric.name}: {metric.meaning}{better}",
        first="ascending" if metric.direction == "lower" else "descending",
        best=None if best is None else [one.name for one in evaluated].index(best),
        metric=metric,
    )


def _difference_column(comparison: Comparison, metric: Metric) -> FigureColumn:
    baseline = comparison.baseline
    return FigureColumn(
        f"vs {visible(baseline)}",
        tuple(
            _NONE if one.name == baseline else shown_difference(one, metric) for one in comparison.tokenizers
        ),
        tuple(
            0.0 if one.name == baseline else one.figures[metric.name].difference
            for one in comparison.tokenizers
        ),
        meaning=f"difference of {metric.title} to the baseline, with its 95 % interval (paired bootstrap "
        "over what was drawn independently); ≈ cannot be told apart",
    )


def _relative_column(comparison: Comparison) -> FigureColumn:
    evaluated, baseline = comparison.tokenizers, comparison.baseline
    return FigureColumn(
        "tokens",
        tuple(_NONE if one.name == baseline else shown_relative(one) for one in evaluated),
        tuple(one.relative_tokens for one in evaluated),
        meaning=f"relative_tokens: tokens of all text over those of {visible(baseline)}",
        first="ascending",
    )


def _time_columns(evaluated: Sequence[EvaluatedTokenizer]) -> Iterator[FigureColumn]:
    """Those of the times that are known of some tokenizer."""

    def column(
        title: str,
        meaning: str,
        values: Sequence[float | None],
        shown_as: Callable[[float], str],
        first: Literal["ascending", "descending"] = "ascending",
    ) -> Iterator[FigureColumn]:
        if any(value is not None for value in values):
            cells = tuple(_NONE if value is None else shown_as(value) for value in values)
            yield FigureColumn(title, cells, tuple(values), meaning=meaning, first=first)

    candidates = [one.candidate for one in evaluated]
    yield from column(
        "loading",
        "milliseconds to open it",
        [one.loading_seconds for one in evaluated],
        lambda value: f"{value * 1e3:,.0f} ms",
    )
    yield from column(
        "training",
        "seconds to train",
        [one.training_seconds for one in candidates],
        lambda value: f"{value:.1f} s",
    )
    yield from column(
        PEAK,
        "memory of a process that only trains",
        [one.training_peak_bytes for one in candidates],
        lambda value: f"{value / 1e6:,.0f} MB",
    )
    yield from column(
        "MB/s",
        "text encoded on one thread, median of several runs",
        [None if one.throughput is None else one.throughput.median for one in evaluated],
        lambda value: f"{value:.1f}",
        "descending",
    )


def fairness_columns(comparison: Comparison) -> Iterator[FigureColumn]:
    """The largest premium and the Gini coefficient; nothing where no lines are aligned."""
    evaluated = comparison.tokenizers
    found = [one.fairness for one in evaluated]
    if any(one is None for one in found):
        return
    worst = [None if one is None else one.worst_language for one in found]
    yield FigureColumn(
        "max premium",
        tuple(
            _NONE if language is None else f"{shown_premium(one, language)} ({language})"
            for one, language in zip(evaluated, worst, strict=True)
        ),
        tuple(None if one is None else one.max_premium for one in found),
        meaning="max_premium: the tokens of the dearest language over those of the reference",
        first="ascending",
    )
    yield FigureColumn(
        "Gini",
        tuple(shown_gini(one) for one in evaluated),
        tuple(None if one is None else one.gini for one in found),
        meaning="gini: how unequal the languages are",
        first="ascending",
    )


def mix_columns(comparison: Comparison) -> Iterator[FigureColumn]:
    """What a mix costs with each tokenizer; nothing where none was asked for."""
    found = [one.mixed for one in comparison.tokenizers if one.mixed is not None]
    if comparison.mix is None or len(found) < len(comparison.tokenizers):
        return
    figures = [one.tokens_per_byte for one in found]
    values = tuple(figure.value for figure in figures)
    yield FigureColumn(
        "tokens/byte",
        tuple(
            _NONE
            if figure.value is None
            else with_interval(f"{figure.value:.4f}", figure.value, figure.interval, digits=4)
            for figure in figures
        ),
        values,
        meaning=f"tokens_per_byte: of a text that is {visible(str(comparison.mix))}",
        first="ascending",
    )
    cells = []
    for one, figure in zip(comparison.tokenizers, figures, strict=True):
        if one.name == comparison.baseline or figure.difference is None:
            cells.append(_NONE)
            continue
        sign = "≈ " if figure.is_distinguishable is False else ""
        text = f"{figure.difference * 100:+.1f} %"
        ends = with_interval(text, figure.difference, figure.difference_interval, scale=100, digits=1)
        cells.append(sign + ends)
    yield FigureColumn(
        f"vs {visible(comparison.baseline)}",
        tuple(cells),
        tuple(figure.difference for figure in figures),
        meaning="by what share it is more than the baseline's",
        first="ascending",
    )
    price = comparison.model.price
    if price is not None:
        yield FigureColumn(
            "price/MB",
            tuple(_NONE if value is None else significant(value * price) for value in values),
            tuple(None if value is None else value * price for value in values),
            meaning="price_per_million_bytes: of such text",
            first="ascending",
        )


def mix_title(comparison: Comparison) -> str:
    """What a table of `mix_columns` is of."""
    return f"a mix of {visible(str(comparison.mix))}, by bytes"


def legend_lines(comparison: Comparison, columns: Sequence[FigureColumn], *, mark: str) -> Iterator[str]:
    """What marks, intervals and heads mean."""
    yield legend_of(comparison, mark=mark)
    names = names_of([column.metric for column in columns if column.metric is not None])
    if any(column.title == "tokens" for column in columns):
        names = (
            f"tokens is relative_tokens, those of all text against {visible(comparison.baseline)}'s; {names}"
        )
    yield names
    model = model_of(comparison.model)
    if model is not None:
        yield model
