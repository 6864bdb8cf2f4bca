"""The tables of a comparison, the same in every form: tokenizers, languages, groups, the mix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.evaluation.evaluated_tokenizer import best_of, groups_in_order
from tokbench.evaluation.figures import significant
from tokbench.metrics.catalogue import metric_named
from tokbench.render.figures import (
    LOSSY,
    cost_columns,
    legend_of,
    model_of,
    names_of,
    shown,
    shown_change,
    shown_figure,
    shown_gini,
    shown_premium,
    with_interval,
)
from tokbench.render.glyphs import visible
from tokbench.render.table import (
    NONE,
    Cell,
    Column,
    Table,
    count_column,
    known_columns,
    text_cell,
    text_column,
    value_column,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.evaluation.figures import Figure
    from tokbench.metrics.metric import Metric
    from tokbench.render.table import Order

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

PEAK = "peak"
_COMPRESSION = "bytes_per_token"
_BETTER = {"higher": "; more is better", "lower": "; less is better", "neither": ""}


def chosen_or_headlines(metrics: Sequence[Metric] | None) -> list[Metric]:
    """The metrics that were chosen, by default those that matter most."""
    return [metric_named(name) for name in HEADLINES] if metrics is None else list(metrics)


def headline_of(metrics: Sequence[Metric] | None) -> Metric:
    """The metric that groups are shown by: the first one with a direction."""
    chosen = chosen_or_headlines(metrics)
    return next((metric for metric in chosen if metric.direction != "neither"), chosen[0])


def baseline_of(comparison: Comparison) -> EvaluatedTokenizer:
    """The tokenizer that differences are relative to."""
    return next(one for one in comparison.tokenizers if one.name == comparison.baseline)


# --- tokenizers -----------------------------------------------------------------------------------


def summary_table(comparison: Comparison, *, metrics: Sequence[Metric] | None = None) -> Table:
    """A row for each tokenizer: its size, metrics, what is relative to the baseline, costs, fairness.

    Args:
        comparison: what was found.
        metrics: by default those that matter most, with what opening, training and encoding took.
    """
    return _tokenizers_table(
        comparison,
        "The tokenizers on all text",
        [
            *_metric_columns(comparison, chosen_or_headlines(metrics)),
            *cost_columns([one.cost for one in comparison.tokenizers]),
            *(_time_columns(comparison.tokenizers) if metrics is None else ()),
            *_fairness_columns(comparison),
        ],
    )


def legend_lines(comparison: Comparison, *, metrics: Sequence[Metric] | None, mark: str) -> Iterator[str]:
    """What marks, intervals and heads of a `summary_table` mean."""
    chosen = chosen_or_headlines(metrics)
    yield legend_of(comparison, mark=mark)
    names = names_of(chosen)
    if len(comparison.tokenizers) > 1 and any(metric.name == _COMPRESSION for metric in chosen):
        baseline = visible(comparison.baseline)
        names = f"tokens is relative_tokens, those of all text against {baseline}'s; {names}"
    yield names
    model = model_of(comparison.model)
    if model is not None:
        yield model


def mix_table(comparison: Comparison) -> Table | None:
    """A row for each tokenizer: what the mix costs; None without a mix."""
    columns = list(_mix_columns(comparison))
    return (
        _tokenizers_table(comparison, f"a mix of {visible(str(comparison.mix))}, by bytes", columns)
        if columns
        else None
    )


def _tokenizers_table(comparison: Comparison, caption: str, columns: Iterable[Column]) -> Table:
    names = text_column("tokenizer", (one.name for one in comparison.tokenizers), style="bold")
    return Table(caption, (names, *columns))


def _metric_columns(comparison: Comparison, metrics: Sequence[Metric]) -> Iterator[Column]:
    evaluated = comparison.tokenizers
    sizes = [one.candidate.tokenizer.info.vocab_size for one in evaluated]
    yield count_column("vocab", sizes, meaning="vocabulary size, special tokens included")
    for number, metric in enumerate(metrics):
        # Of several the differences have one: those of the figures say little of which is better.
        yield _metric_column(evaluated, metric, with_intervals=number == 0 and len(evaluated) == 1)
        if number == 0 and len(evaluated) > 1:
            yield _difference_column(comparison, metric)
        if metric.name == _COMPRESSION and len(evaluated) > 1:
            yield _relative_column(comparison)


def _metric_column(
    evaluated: Sequence[EvaluatedTokenizer], metric: Metric, *, with_intervals: bool
) -> Column:
    best = best_of(evaluated, metric)
    figures = ((one.name, one.figures[metric.name]) for one in evaluated)
    return Column(
        metric.title,
        tuple(
            Cell(
                shown_figure(figure, metric) if with_intervals else shown(figure.value, metric),
                figure.value,
                best=name == best,
            )
            for name, figure in figures
        ),
        name=metric.name,
        meaning=metric.meaning + _BETTER[metric.direction],
        first=_first(metric),
        has_best=True,
    )


def _difference_column(comparison: Comparison, metric: Metric) -> Column:
    figures = [one.figures[metric.name] for one in comparison.tokenizers]
    return _change_column(
        comparison,
        f"vs {visible(comparison.baseline)}",
        figures,
        values=[
            0.0 if one.name == comparison.baseline else figure.difference
            for one, figure in zip(comparison.tokenizers, figures, strict=True)
        ],
        unit="pp" if metric.share else "%",
        meaning=f"difference of {metric.title} to the baseline, with its 95 % interval (paired bootstrap "
        "over what was drawn independently); ≈ cannot be told apart",
        first="descending",
    )


def _relative_column(comparison: Comparison) -> Column:
    return _change_column(
        comparison,
        "tokens",
        [one.relative for one in comparison.tokenizers],
        values=[one.relative_tokens for one in comparison.tokenizers],
        name="relative_tokens",
        meaning=f"tokens of all text over those of {visible(comparison.baseline)}",
    )


def _change_column(
    comparison: Comparison,
    title: str,
    figures: Sequence[Figure],
    *,
    values: Sequence[float | None],
    meaning: str,
    name: str = "",
    unit: str = "%",
    first: Order = "ascending",
) -> Column:
    """The differences of figures to those of the baseline, which has none."""
    cells = (
        Cell(NONE if one.name == comparison.baseline else shown_change(figure, unit=unit), value)
        for one, figure, value in zip(comparison.tokenizers, figures, values, strict=True)
    )
    return Column(title, tuple(cells), name=name, meaning=meaning, first=first)


def _time_columns(evaluated: Sequence[EvaluatedTokenizer]) -> list[Column]:
    """Those of the times that are known of some tokenizer."""
    candidates = [one.candidate for one in evaluated]
    return known_columns(
        value_column(
            "loading",
            [one.loading_seconds for one in evaluated],
            lambda value: f"{value * 1e3:,.0f} ms",
            meaning="milliseconds to open it",
            first="ascending",
        ),
        value_column(
            "training",
            [one.training_seconds for one in candidates],
            lambda value: f"{value:.1f} s",
            meaning="seconds to train",
            first="ascending",
        ),
        value_column(
            PEAK,
            [one.training_peak_bytes for one in candidates],
            lambda value: f"{value / 1e6:,.0f} MB",
            meaning="memory of a process that only trains",
            first="ascending",
        ),
        value_column(
            "MB/s",
            [None if one.throughput is None else one.throughput.median for one in evaluated],
            lambda value: f"{value:.1f}",
            meaning="text encoded on one thread, median of several runs",
        ),
    )


def _fairness_columns(comparison: Comparison) -> Iterator[Column]:
    """The largest premium and the Gini coefficient; nothing where no lines are aligned."""
    fair = [(one, one.fairness) for one in comparison.tokenizers if one.fairness is not None]
    if len(fair) < len(comparison.tokenizers):
        return
    worst = [(one, fairness.worst_language, fairness.max_premium) for one, fairness in fair]
    yield Column(
        "max premium",
        tuple(
            Cell(NONE if language is None else f"{shown_premium(one, language)} ({language})", premium)
            for one, language, premium in worst
        ),
        name="max_premium",
        meaning="tokens of the language with the highest premium over those of the reference",
        first="ascending",
        is_detail=True,
    )
    yield Column(
        "Gini",
        tuple(Cell(shown_gini(one), fairness.gini) for one, fairness in fair),
        name="gini",
        meaning="how unequal the languages are",
        first="ascending",
        is_detail=True,
    )


def _mix_columns(comparison: Comparison) -> Iterator[Column]:
    """The columns of a mix: what it costs with each tokenizer; none without a mix."""
    found = [one.mixed for one in comparison.tokenizers if one.mixed is not None]
    if comparison.mix is None or len(found) < len(comparison.tokenizers):
        return
    figures = [one.tokens_per_byte for one in found]
    yield tokens_per_byte_column(figures, meaning=f"of a text that is {visible(str(comparison.mix))}")
    yield _change_column(
        comparison,
        f"vs {visible(comparison.baseline)}",
        figures,
        values=[figure.difference for figure in figures],
        meaning="by what share it is more than the baseline's",
    )
    if comparison.model.price is not None:
        yield price_column(figures, comparison.model.price, meaning="of such text")


def tokens_per_byte_column(figures: Sequence[Figure], *, meaning: str) -> Column:
    """The tokens per byte of a mix, with intervals."""
    cells = (
        Cell(
            NONE
            if figure.value is None
            else with_interval(f"{figure.value:.4f}", figure.value, figure.interval, digits=4),
            figure.value,
        )
        for figure in figures
    )
    return Column("tokens/byte", tuple(cells), name="tokens_per_byte", meaning=meaning, first="ascending")


def price_column(figures: Sequence[Figure], price: float, *, meaning: str) -> Column:
    """The price of a million bytes of a mix, from its tokens per byte and the price of a million tokens."""
    prices = (None if figure.value is None else figure.value * price for figure in figures)
    name = "price_per_million_bytes"
    return value_column("price/MB", prices, significant, name=name, meaning=meaning, first="ascending")


# --- groups ---------------------------------------------------------------------------------------


def groups_table(comparison: Comparison, metric: Metric, groups: Iterable[str] | None = None) -> Table:
    """A row for each group: its size, and a metric of each tokenizer, with bars of the baseline.

    Args:
        comparison: what was found.
        metric: whose figures are shown.
        groups: by default all.
    """
    base = baseline_of(comparison)
    names = groups_in_order(base, base.groups if groups is None else groups, metric)
    sizes = comparison.tokenizers[0].evaluation.groups
    return Table(
        f"{metric.title} by group",
        (
            text_column("group", names),
            count_column(
                "bytes",
                (sizes[name]["bytes"] for name in names),
                meaning="UTF-8 bytes of its text",
                is_detail=True,
            ),
            *(
                Column(
                    visible(one.name),
                    tuple(
                        Cell(shown_figure(figure, metric), figure.value)
                        for figure in (one.groups[name][metric.name] for name in names)
                    ),
                    first=_first(metric),
                )
                for one in comparison.tokenizers
            ),
        ),
        corner=metric.title,
        bars=tuple(base.groups[name][metric.name].value for name in names),
    )


def premiums_table(comparison: Comparison) -> Table | None:
    """A row for each language, the highest premium first: its tokens over those of the reference, with bars.

    None where no lines are aligned.
    """
    base = baseline_of(comparison).fairness
    fair = [(one, one.fairness) for one in comparison.tokenizers if one.fairness is not None]
    if base is None:
        return None
    languages = sorted(base.premiums, key=lambda language: (-(base.premiums[language] or 0), language))
    reference = visible(base.reference)
    heads = (*map(text_cell, languages), Cell("Gini", style="dim"))
    return Table(
        f"Tokens over those of {reference} on the same lines; {LOSSY}: more than 1 % unknown tokens, cheap because "
        "text is lost; Gini: how unequal they are",
        (
            Column("language", heads, first="ascending", align="left"),
            *(
                Column(
                    visible(one.name),
                    (
                        *(_premium_cell(one, language) for language in languages),
                        Cell(shown_gini(one), fairness.gini),
                    ),
                )
                for one, fairness in fair
            ),
        ),
        corner=f"tokens over {reference}",
        bars=(*(base.premiums[language] for language in languages), None),
    )


def _premium_cell(one: EvaluatedTokenizer, language: str) -> Cell:
    text = shown_premium(one, language)
    value = None if one.fairness is None else one.fairness.premiums.get(language)
    return Cell(text, value, style="dim" if LOSSY in text else "")


def _first(metric: Metric) -> Order:
    return "ascending" if metric.direction == "lower" else "descending"
