"""Formatting of figures: shares in percent, everything else with significant digits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.wording import counted, first_of
from tokbench.evaluation.figures import significant
from tokbench.evaluation.sweep_point import described
from tokbench.metrics.bootstrap import FEWEST_UNITS, change_digits
from tokbench.render.glyphs import visible
from tokbench.render.table import LOSSY, NONE, Column, known_columns, value_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.costs import Cost, Model, TextCost
    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.evaluation.figures import Figure
    from tokbench.metrics.bootstrap import Interval
    from tokbench.metrics.metric import Metric

MEANING_OF_LOSSY = "more than 1 % unknown or dropped, cheap because text is lost"
_GROUPS_NAMED = 3


def shown(value: float | None, metric: Metric) -> str:
    """Format a value of a metric; "–" for None.

    >>> from tokbench.metrics.catalogue import METRICS
    >>> shown(0.12345, METRICS["unk_rate"]), shown(3.14159, METRICS["bytes_per_token"])
    ('12.35 %', '3.142')
    >>> shown(0.999999, METRICS["roundtrip_rate"]), shown(None, METRICS["unk_rate"])
    ('99.99 %', '–')
    """
    if value is None:
        return NONE
    return _percent(value) if metric.share else f"{value:,.3f}"


def shown_figure(figure: Figure | None, metric: Metric, *, mark: str = "") -> str:
    """Format a figure with a mark, and with its interval, if it has one; "–" for None.

    >>> from tokbench.evaluation.figures import Figure
    >>> from tokbench.metrics.catalogue import METRICS
    >>> from tokbench.metrics.bootstrap import Interval
    >>> shown_figure(Figure(2.5, Interval(2.25, 2.75)), METRICS["bytes_per_token"])
    '2.500 ±0.250'
    """
    if figure is None or figure.value is None:
        return NONE
    text, interval = f"{shown(figure.value, metric)}{mark}", figure.interval
    # An interval may be a point: bytes per token of a byte tokenizer cannot vary.
    if interval is None or interval.low == interval.high:
        return text
    return with_interval(
        text, figure.value, interval, scale=100 if metric.share else 1, digits=2 if metric.share else 3
    )


def _percent(share: float) -> str:
    """Format a share in percent; only 1 becomes 100 % and only 0 becomes 0 %."""
    if 0.9999 < share < 1:
        return "99.99 %"
    if 0 < share < 0.00005:
        return "<0.01 %"
    return f"{share * 100:.2f} %" if 0 < share < 1 else f"{share * 100:.0f} %"


def shown_premium(tokenizer: EvaluatedTokenizer, language: str) -> str:
    """Format the premium of a language, with a "?" if it is low because text is lost."""
    premium = None if tokenizer.fairness is None else tokenizer.fairness.premiums.get(language)
    if tokenizer.fairness is not None and language in tokenizer.fairness.without_text:
        return "no text"
    if premium is None:
        return NONE
    text = f"{premium:.3f}{LOSSY if tokenizer.looks_cheaper(language) else ''}"
    return with_interval(
        text, premium, None if tokenizer.fairness is None else tokenizer.fairness.premium_interval(language)
    )


def shown_gini(tokenizer: EvaluatedTokenizer) -> str:
    """Format the Gini coefficient of the premiums, with its interval, and a "?" if a language loses text."""
    if tokenizer.fairness is None or tokenizer.fairness.gini is None:
        return NONE
    mark = LOSSY if any(tokenizer.looks_cheaper(language) for language in tokenizer.fairness.premiums) else ""
    return with_interval(
        f"{tokenizer.fairness.gini:.3f}{mark}", tokenizer.fairness.gini, tokenizer.fairness.gini_interval
    )


def legend_of(comparison: Comparison, *, mark: str) -> str:
    """Explain the mark of the best and the intervals, or why there are no intervals."""
    if comparison.interval_gap is not None:
        return comparison.interval_gap
    drawn, gaps = drawn_from(comparison.units), named_gaps(comparison.group_interval_gaps)
    if len(comparison.tokenizers) < 2:  # nothing to compare with
        return f"± 95 % (bootstrap over {drawn}){gaps}"
    return (
        f"{mark} best lossless tokenizer, if significant; ± 95 % (paired bootstrap over {drawn}), "
        f"≈ no significant difference{gaps}"
    )


def named_gaps(groups: Iterable[str]) -> str:
    """Return the end of a sentence that names groups without an interval; empty if all have one."""
    names = first_of([*map(visible, groups)], _GROUPS_NAMED)
    return f"; no interval for {names}: text in fewer than {FEWEST_UNITS} of these" if names else ""


def drawn_from(units: Mapping[str, int]) -> str:
    """Describe the units that resamples draw.

    >>> drawn_from({"aligned lines": 40, "files": 1})
    '40 aligned lines and 1 file'
    """
    return " and ".join(counted(number, kind.removesuffix("s")) for kind, number in units.items())


def names_of(metrics: Iterable[Metric]) -> str:
    """Map the column titles of metrics to their names, as a sentence.

    >>> from tokbench.metrics.catalogue import metrics_named
    >>> names_of(metrics_named(["bytes_per_token", "unk_rate"]))
    'bytes/token is bytes_per_token, UNK is unk_rate; --metrics help explains them'
    """
    pairs = ", ".join(f"{metric.title} is {metric.name}" for metric in metrics)
    return f"{pairs}; --metrics help explains them"


def shown_change(figure: Figure, *, unit: str = "%") -> str:
    """Format the change of a figure in percent with its interval; ≈ if it may be zero.

    >>> from tokbench.evaluation.figures import Figure
    >>> shown_change(Figure(2.5, None, 0.25)), shown_change(Figure(2.5))
    ('+25.0 %', '–')
    >>> from tokbench.metrics.bootstrap import Interval
    >>> shown_change(Figure(1.0, None, 0.0003, Interval(0.0002, 0.0004)))
    '+0.03 % ±0.01'
    >>> shown_change(Figure(1.0, None, -0.0003, Interval(-0.0026, 0.0004)))
    '≈ +0.0 % -0.3…0.0'
    """
    if figure.difference is None:
        return NONE
    digits = change_digits(figure.difference, figure.difference_interval)
    text = f"{figure.difference * 100:+z.{digits}f} {unit}"
    sign = "≈ " if figure.is_distinguishable is False else ""
    return sign + with_interval(text, figure.difference, figure.difference_interval, scale=100, digits=digits)


def shown_interval(figure: Figure, metric: Metric) -> str:
    """Format both ends of a figure's interval; empty if it has none, or if it is a point."""
    if figure.interval is None or figure.interval.low == figure.interval.high:
        return ""
    return f"{shown(figure.interval.low, metric)} … {shown(figure.interval.high, metric)}"


def figure_fields(figure: Figure | None) -> tuple[float | None, ...]:
    """Return value, interval ends, difference and its interval ends of a figure; None for missing ones."""
    if figure is None:
        return (None,) * 6
    return (
        figure.value,
        *(figure.interval or (None, None)),
        figure.difference,
        *(figure.difference_interval or (None, None)),
    )


def with_interval(
    text: str, value: float, interval: Interval | None, *, scale: float = 1, digits: int = 3
) -> str:
    """Append the interval to a formatted figure: as both ends, or as ± half its width if it is symmetric.

    Args:
        text: the formatted figure.
        value: the figure.
        interval: the interval; None leaves the text as it is.
        scale: factor for the interval ends.
        digits: digits after the decimal point.

    >>> from tokbench.metrics.bootstrap import Interval
    >>> with_interval("1.5", 1.5, Interval(1.4, 1.6), digits=1), with_interval("5", 5, Interval(1, 20), digits=0)
    ('1.5 ±0.1', '5 1…20')
    """
    if interval is None:
        return text
    below, above = (value - interval.low) * scale, (interval.high - value) * scale
    if f"{below:z.{digits}f}" == f"{above:z.{digits}f}":
        return f"{text} ±{above:z.{digits}f}"
    return f"{text} {interval.low * scale:z.{digits}f}…{interval.high * scale:z.{digits}f}"


def cost_columns(costs: Sequence[Cost]) -> list[Column]:
    """Return the columns of costs that the model description allows: those of the vocabulary and of all text."""
    return known_columns(
        _cost_column(
            costs,
            "embedding_bytes",
            "embedding",
            shown_megabytes,
            "the embedding, shared with the output matrix",
        ),
        _cost_column(
            costs,
            "flops_per_byte",
            "MFLOP/byte",
            lambda value: significant(value / 1e6),
            "what a byte of the text takes on its way through the model",
        ),
        *text_cost_columns([cost.text for cost in costs]),
    )


def text_cost_columns(costs: Sequence[TextCost]) -> list[Column]:
    """Return the columns of costs of some texts."""
    return known_columns(
        _cost_column(
            costs, "context_chars", "chars/context", "{:,.0f}".format, "characters that fit into the context"
        ),
        _cost_column(
            costs,
            "price_per_million_chars",
            "price/M chars",
            significant,
            "the price of a million characters",
        ),
        _cost_column(
            costs,
            "attention_flops_per_thousand_chars",
            "GFLOP/1k chars",
            lambda value: significant(value / 1e9),
            "attending over a thousand characters",
        ),
        _cost_column(
            costs,
            "kv_cache_bytes_per_thousand_chars",
            "KV/1k chars",
            shown_megabytes,
            "keys and values of a thousand characters",
        ),
    )


def _cost_column(
    costs: Sequence[Cost | TextCost], name: str, title: str, shown: Callable[[float], str], meaning: str
) -> Column:
    values = [getattr(cost, name) for cost in costs]
    return value_column(title, values, shown, name=name, meaning=meaning, first="ascending")


def model_totals(cost: Cost) -> Iterator[tuple[str, str]]:
    """Yield labels and formatted values of the known costs of the vocabulary and of a full context."""
    sizes = (
        ("embedding", cost.embedding_bytes),
        ("embedding and output", cost.untied_bytes),
        ("KV cache of a context", cost.kv_cache_bytes),
    )
    yield from ((label, shown_megabytes(size)) for label, size in sizes if size is not None)
    if cost.attention_flops is not None:
        yield "attention over a context", f"{cost.attention_flops / 1e9:,.1f} GFLOP"
    if cost.flops_per_byte is not None:
        yield "a byte of the text", f"{significant(cost.flops_per_byte / 1e6)} MFLOP"


def shown_megabytes(num_bytes: float) -> str:
    """Format bytes in millions.

    >>> shown_megabytes(8_190_000)
    '8.2 MB'
    """
    return f"{num_bytes / 1e6:,.1f} MB"


def model_of(model: Model) -> str | None:
    """Describe the model that computations are for; None if nothing is computed."""
    return None if model.dim is None else f"MFLOP/byte: {described(model)}"
