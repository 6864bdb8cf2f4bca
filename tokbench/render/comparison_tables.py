"""The tables of a comparison with a row per tokenizer, shared by all output forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.evaluation.evaluated_tokenizer import best_of
from tokbench.evaluation.figures import significant
from tokbench.metrics.catalogue import metric_named
from tokbench.render.figures import (
    MEANING_OF_LOSSY,
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
    LOSSY,
    NONE,
    Cell,
    Column,
    Table,
    count_column,
    known_columns,
    text_column,
    value_column,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.evaluation.fairness import Fairness
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
"""The metrics that are shown by default."""

PEAK = "peak"
_COMPRESSION = "bytes_per_token"
_BETTER = {"higher": "; more is better", "lower": "; less is better", "neither": ""}


def chosen_or_headlines(metrics: Sequence[Metric] | None) -> list[Metric]:
    """Return the chosen metrics, by default the most important ones."""
    return [metric_named(name) for name in HEADLINES] if metrics is None else list(metrics)


def headline_of(metrics: Sequence[Metric] | None) -> Metric:
    """Return the metric that groups are shown by: the first one with a direction."""
    chosen = chosen_or_headlines(metrics)
    return next((metric for metric in chosen if metric.direction != "neither"), chosen[0])


def baseline_of(comparison: Comparison) -> EvaluatedTokenizer:
    """Return the tokenizer that differences are relative to."""
    return next(tokenizer for tokenizer in comparison.tokenizers if tokenizer.name == comparison.baseline)


def fair_tokenizers(comparison: Comparison) -> list[tuple[EvaluatedTokenizer, Fairness]]:
    """Return the tokenizers whose fairness is known, with it; none without aligned lines."""
    return [
        (tokenizer, tokenizer.fairness)
        for tokenizer in comparison.tokenizers
        if tokenizer.fairness is not None
    ]


def by_premium(fairness: Fairness) -> list[str]:
    """Return the languages, those with the highest premium first."""
    return sorted(fairness.premiums, key=lambda language: (-(fairness.premiums[language] or 0), language))


# --- tokenizers -----------------------------------------------------------------------------------


def summary_table(comparison: Comparison, *, metrics: Sequence[Metric] | None = None) -> Table:
    """Return a table with a row per tokenizer: size, metrics, differences to the baseline, costs, fairness.

    Args:
        comparison: the comparison.
        metrics: by default the most important ones, with the times of loading, training and encoding.
    """
    return _tokenizers_table(
        comparison,
        "The tokenizers on all text",
        [
            *_metric_columns(comparison, chosen_or_headlines(metrics)),
            *cost_columns([tokenizer.cost for tokenizer in comparison.tokenizers]),
            *(_time_columns(comparison.tokenizers) if metrics is None else ()),
            *_fairness_columns(comparison),
        ],
    )


def legend_lines(comparison: Comparison, *, metrics: Sequence[Metric] | None, mark: str) -> Iterator[str]:
    """Yield lines that explain the marks, intervals and column titles of a `summary_table`."""
    chosen = chosen_or_headlines(metrics)
    yield legend_of(comparison, mark=mark)
    names = names_of(chosen)
    if len(comparison.tokenizers) > 1 and any(metric.name == _COMPRESSION for metric in chosen):
        baseline = visible(comparison.baseline)
        names = f"tokens is relative_tokens, the total number relative to {baseline}; {names}"
    yield names
    if any(looks_better(tokenizer, metric) for tokenizer in comparison.tokenizers for metric in chosen):
        yield f"{LOSSY} {MEANING_OF_LOSSY}"
    model = model_of(comparison.model)
    if model is not None:
        yield model


def mix_table(comparison: Comparison) -> Table | None:
    """Return a table with the costs of the mix, a row per tokenizer; None without a mix."""
    columns = list(_mix_columns(comparison))
    return (
        _tokenizers_table(comparison, f"a mix of {visible(str(comparison.mix))}, by bytes", columns)
        if columns
        else None
    )


def _tokenizers_table(comparison: Comparison, caption: str, columns: Iterable[Column]) -> Table:
    names = text_column("tokenizer", (tokenizer.name for tokenizer in comparison.tokenizers), style="bold")
    return Table(caption, (names, *columns))


def _metric_columns(comparison: Comparison, metrics: Sequence[Metric]) -> Iterator[Column]:
    evaluated = comparison.tokenizers
    sizes = [tokenizer.candidate.tokenizer.info.vocab_size for tokenizer in evaluated]
    yield count_column("vocab", sizes, meaning="vocabulary size, special tokens included")
    for number, metric in enumerate(metrics):
        # Of several tokenizers only the differences have intervals: those of figures say little about which is better.
        yield _metric_column(evaluated, metric, with_intervals=number == 0 and len(evaluated) == 1)
        if number == 0 and len(evaluated) > 1:
            yield _difference_column(comparison, metric)
        if metric.name == _COMPRESSION and len(evaluated) > 1:
            yield _relative_column(comparison)


def _metric_column(
    evaluated: Sequence[EvaluatedTokenizer], metric: Metric, *, with_intervals: bool
) -> Column:
    best = best_of(evaluated, metric)
    cells = []
    for tokenizer in evaluated:
        figure = tokenizer.figures[metric.name]
        is_marked = figure.value is not None and looks_better(tokenizer, metric)
        mark = LOSSY if is_marked else ""
        cells.append(
            Cell(
                shown_figure(figure, metric, mark=mark)
                if with_intervals
                else f"{shown(figure.value, metric)}{mark}",
                figure.value,
                best=tokenizer.name == best,
                style="dim" if is_marked else "",
            )
        )
    return Column(
        metric.title,
        tuple(cells),
        name=metric.name,
        meaning=metric.meaning + _BETTER[metric.direction],
        first=initial_order(metric),
        has_best=True,
    )


def looks_better(tokenizer: EvaluatedTokenizer, metric: Metric) -> bool:
    """Whether a figure is a number per token or per word of a tokenizer that loses much of the text."""
    return not metric.share and metric.direction != "neither" and tokenizer.looks_cheaper()


def _difference_column(comparison: Comparison, metric: Metric) -> Column:
    figures = [tokenizer.figures[metric.name] for tokenizer in comparison.tokenizers]
    return _change_column(
        comparison,
        f"vs {visible(comparison.baseline)}",
        figures,
        values=[
            0.0 if tokenizer.name == comparison.baseline else figure.difference
            for tokenizer, figure in zip(comparison.tokenizers, figures, strict=True)
        ],
        unit="pp" if metric.share else "%",
        meaning=f"difference of {metric.title} to the baseline, with its 95 % interval (paired bootstrap "
        "over independent units); ≈ no significant difference",
        first="descending",
    )


def _relative_column(comparison: Comparison) -> Column:
    return _change_column(
        comparison,
        "tokens",
        [tokenizer.relative for tokenizer in comparison.tokenizers],
        values=[tokenizer.relative_tokens for tokenizer in comparison.tokenizers],
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
    """Return a column with the differences of figures to those of the baseline, which has none."""
    cells = (
        Cell(NONE if tokenizer.name == comparison.baseline else shown_change(figure, unit=unit), value)
        for tokenizer, figure, value in zip(comparison.tokenizers, figures, values, strict=True)
    )
    return Column(title, tuple(cells), name=name, meaning=meaning, first=first)


def _time_columns(evaluated: Sequence[EvaluatedTokenizer]) -> list[Column]:
    """Return the columns of times that are known for some tokenizer."""
    candidates = [tokenizer.candidate for tokenizer in evaluated]
    return known_columns(
        value_column(
            "loading",
            [tokenizer.loading_seconds for tokenizer in evaluated],
            lambda value: f"{value * 1e3:,.0f} ms",
            meaning="milliseconds to open it",
            first="ascending",
        ),
        value_column(
            "training",
            [tokenizer.training_seconds for tokenizer in candidates],
            lambda value: f"{value:.1f} s",
            meaning="seconds to train",
            first="ascending",
        ),
        value_column(
            PEAK,
            [tokenizer.training_peak_bytes for tokenizer in candidates],
            lambda value: f"{value / 1e6:,.0f} MB",
            meaning="memory of a process that only trains",
            first="ascending",
        ),
        value_column(
            "MB/s",
            [
                None if tokenizer.throughput is None else tokenizer.throughput.median
                for tokenizer in evaluated
            ],
            lambda value: f"{value:.1f}",
            meaning="text encoded on one thread, median of several runs",
        ),
    )


def _fairness_columns(comparison: Comparison) -> Iterator[Column]:
    """Yield columns with the highest premium and the Gini coefficient; none without aligned lines."""
    fair = fair_tokenizers(comparison)
    if len(fair) < len(comparison.tokenizers):
        return
    worst = [(tokenizer, fairness.worst_language, fairness.max_premium) for tokenizer, fairness in fair]
    yield Column(
        "max premium",
        tuple(
            Cell(NONE if language is None else f"{shown_premium(tokenizer, language)} ({language})", premium)
            for tokenizer, language, premium in worst
        ),
        name="max_premium",
        meaning="tokens of the language with the highest premium over those of the reference",
        first="ascending",
        is_detail=True,
    )
    yield Column(
        "Gini",
        tuple(Cell(shown_gini(tokenizer), fairness.gini) for tokenizer, fairness in fair),
        name="gini",
        meaning="how unequal the languages are",
        first="ascending",
        is_detail=True,
    )


def _mix_columns(comparison: Comparison) -> Iterator[Column]:
    """Yield the columns of a mix with the costs of each tokenizer; none without a mix."""
    found = [tokenizer.mixed for tokenizer in comparison.tokenizers if tokenizer.mixed is not None]
    if comparison.mix is None or len(found) < len(comparison.tokenizers):
        return
    figures = [tokenizer.tokens_per_byte for tokenizer in found]
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
    """Return a column with the tokens per byte of a mix, with intervals."""
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
    """Return a column with the price of a million bytes of a mix, from its tokens per byte and the price of a token."""
    prices = (None if figure.value is None else figure.value * price for figure in figures)
    name = "price_per_million_bytes"
    return value_column("price/MB", prices, significant, name=name, meaning=meaning, first="ascending")


def initial_order(metric: Metric) -> Order:
    """Return the order in which a column of a metric is sorted first: the best values on top."""
    return "ascending" if metric.direction == "lower" else "descending"
