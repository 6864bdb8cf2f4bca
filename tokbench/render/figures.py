"""Format figures: shares in percent, everything else with its significant digits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.wording import counted, first_of
from tokbench.evaluation.figures import significant
from tokbench.evaluation.recommendation import described
from tokbench.metrics.bootstrap import FEWEST_UNITS
from tokbench.render.glyphs import visible
from tokbench.render.table import NONE, Column, known_columns, value_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tokbench.evaluation.comparison import Comparison
    from tokbench.evaluation.costs import Cost, Model, TextCost
    from tokbench.evaluation.evaluated_tokenizer import EvaluatedTokenizer
    from tokbench.evaluation.figures import Figure
    from tokbench.metrics.bootstrap import Interval
    from tokbench.metrics.metric import Metric

LOSSY = "?"
_MOST_UNKNOWN = 0.01
_GROUPS_NAMED = 3

_TELLING_BYTES = 100_000
"""With less text, a rate measures start-up rather than reading."""
_KILO = 1_000
_MEGA = 1_000_000


def shown(value: float | None, metric: Metric) -> str:
    """A value of a metric; "–" where there is none.

    >>> from tokbench.metrics.catalogue import METRICS
    >>> shown(0.12345, METRICS["unk_rate"]), shown(3.14159, METRICS["bytes_per_token"])
    ('12.35 %', '3.142')
    >>> shown(0.999999, METRICS["roundtrip_rate"]), shown(None, METRICS["unk_rate"])
    ('99.99 %', '–')
    """
    if value is None:
        return NONE
    return _percent(value) if metric.share else f"{value:,.3f}"


def shown_figure(figure: Figure | None, metric: Metric) -> str:
    """A figure with its interval, where it has one; "–" where there is none.

    >>> from tokbench.evaluation.figures import Figure
    >>> from tokbench.metrics.catalogue import METRICS
    >>> from tokbench.metrics.bootstrap import Interval
    >>> shown_figure(Figure(2.5, Interval(2.25, 2.75)), METRICS["bytes_per_token"])
    '2.500 ±0.250'
    """
    if figure is None or figure.value is None:
        return NONE
    text, interval = shown(figure.value, metric), figure.interval
    if interval is None or interval.low == interval.high:  # as bytes per token of bytes: it cannot vary
        return text
    return with_interval(
        text, figure.value, interval, scale=100 if metric.share else 1, digits=2 if metric.share else 3
    )


def _percent(share: float) -> str:
    """Round a share, but only 1 is shown as 100 % and only 0 as 0 %."""
    if 0.9999 < share < 1:
        return "99.99 %"
    if 0 < share < 0.00005:
        return "<0.01 %"
    return f"{share * 100:.2f} %" if 0 < share < 1 else f"{share * 100:.0f} %"


def shown_premium(one: EvaluatedTokenizer, language: str) -> str:
    """The premium of a language; with a "?" where it is cheap because text is lost.

    Unknown tokens stand for any number of characters: from one in a hundred on the figure says little.
    """
    premium = None if one.fairness is None else one.fairness.premiums.get(language)
    if one.fairness is not None and language in one.fairness.without_text:
        return "no text"
    if premium is None:
        return NONE
    text = f"{premium:.3f}{LOSSY if loses_text(one, language) else ''}"
    return with_interval(
        text, premium, None if one.fairness is None else one.fairness.premium_interval(language)
    )


def shown_gini(one: EvaluatedTokenizer) -> str:
    """How unequal the languages are, with its interval."""
    if one.fairness is None or one.fairness.gini is None:
        return NONE
    return with_interval(f"{one.fairness.gini:.3f}", one.fairness.gini, one.fairness.gini_interval)


def legend_of(comparison: Comparison, *, mark: str) -> str:
    """What a mark and an interval mean, and where there is no interval why."""
    if comparison.interval_gap is not None:
        return comparison.interval_gap
    drawn, gaps = drawn_from(comparison.units), named_gaps(comparison.group_interval_gaps)
    if len(comparison.tokenizers) < 2:  # nothing to be better than, or distinguished from
        return f"± 95 % (bootstrap over {drawn}){gaps}"
    return (
        f"{mark} best of those that keep the text, beyond chance; ± 95 % (paired bootstrap over {drawn}), "
        f"≈ not distinguishable{gaps}"
    )


def named_gaps(groups: Iterable[str]) -> str:
    """That figures of some groups have no interval, as the end of a sentence; empty where all have one."""
    names = first_of([*map(visible, groups)], _GROUPS_NAMED)
    return f"; no interval for {names}: drawn in fewer than {FEWEST_UNITS}" if names else ""


def drawn_from(units: Mapping[str, int]) -> str:
    """What resamples draw.

    >>> drawn_from({"aligned lines": 40, "files": 1})
    '40 aligned lines and 1 file'
    """
    return " and ".join(counted(number, kind.removesuffix("s")) for kind, number in units.items())


def names_of(metrics: Iterable[Metric]) -> str:
    """The names of metrics beside the heads that tables have for them.

    >>> from tokbench.metrics.catalogue import metrics_named
    >>> names_of(metrics_named(["bytes_per_token", "unk_rate"]))
    'bytes/token is bytes_per_token, UNK is unk_rate; --metrics help explains them'
    """
    pairs = ", ".join(f"{metric.title} is {metric.name}" for metric in metrics)
    return f"{pairs}; --metrics help explains them"


def loses_text(one: EvaluatedTokenizer, group: str) -> bool:
    """Whether so many tokens of a group are unknown that its text looks cheaper than it is."""
    return (one.groups[group]["unk_rate"].value or 0) > _MOST_UNKNOWN


def shown_change(figure: Figure, *, unit: str = "%") -> str:
    """The change of a figure in percent with its interval; ≈ where it may be zero.

    >>> from tokbench.evaluation.figures import Figure
    >>> shown_change(Figure(2.5, None, 0.25)), shown_change(Figure(2.5))
    ('+25.0 %', '–')
    """
    if figure.difference is None:
        return NONE
    text = f"{figure.difference * 100:+.1f} {unit}"
    sign = "≈ " if figure.is_distinguishable is False else ""
    return sign + with_interval(text, figure.difference, figure.difference_interval, scale=100, digits=1)


def shown_interval(figure: Figure, metric: Metric) -> str:
    """Both ends of a figure's interval; nothing where it has none."""
    if figure.interval is None:
        return ""
    return f"{shown(figure.interval.low, metric)} … {shown(figure.interval.high, metric)}"


def figure_fields(figure: Figure | None) -> tuple[float | None, ...]:
    """A figure for other programs: its value and both ends, and those of its difference; None for what there is not."""
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
    """A figure with its interval after it: both ends, or half of its width where these are equally far away.

    Args:
        text: the figure as it is written.
        value: the figure.
        interval: None leaves it as it is.
        scale: what ends are multiplied by.
        digits: after the point.

    >>> from tokbench.metrics.bootstrap import Interval
    >>> with_interval("1.5", 1.5, Interval(1.4, 1.6), digits=1), with_interval("5", 5, Interval(1, 20), digits=0)
    ('1.5 ±0.1', '5 1…20')
    """
    if interval is None:
        return text
    below, above = (value - interval.low) * scale, (interval.high - value) * scale
    if f"{below:.{digits}f}" == f"{above:.{digits}f}":
        return f"{text} ±{above:.{digits}f}"
    return f"{text} {interval.low * scale:.{digits}f}…{interval.high * scale:.{digits}f}"


def rate(num_bytes: float, seconds: float, *, digits: int = 1) -> str | None:
    """The reading rate; None for too little text to measure.

    >>> rate(5_000_000, 0.4), rate(200_000, 10.0), rate(12, 0.1)
    ('12.5 MB/s', '20.0 kB/s', None)
    """
    if num_bytes < _TELLING_BYTES or seconds <= 0:
        return None
    return f"{_in_units(num_bytes / seconds, digits=digits)}/s"


def amount(num_bytes: float, *, of: float | None = None, digits: int = 1) -> str:
    """Format an amount of text; with a total, in the unit of the total.

    >>> amount(25e6), amount(0, of=50e6), amount(1_500, of=4_000)
    ('25.0 MB', '0.0 of 50.0 MB', '1.5 of 4.0 kB')
    """
    if of is None:
        return _in_units(num_bytes, digits=digits)
    whole, unit = _in_units(of, digits=digits).split(" ")
    size = {"B": 1, "kB": _KILO, "MB": _MEGA}[unit]
    return f"{num_bytes / size:,.{0 if unit == 'B' else digits}f} of {whole} {unit}"


def _in_units(number: float, *, digits: int) -> str:
    if number < _KILO:
        return f"{number:.0f} B"
    size, unit = (_KILO, "kB") if number < _MEGA / 10 else (_MEGA, "MB")
    return f"{number / size:,.{digits}f} {unit}"


def cost_columns(costs: Sequence[Cost]) -> list[Column]:
    """The costs that the description of the model tells, of the vocabulary and of all text."""
    return known_columns(
        value_column(
            "embedding",
            [cost.embedding_bytes for cost in costs],
            shown_megabytes,
            name="embedding_bytes",
            meaning="the embedding, shared with the output matrix",
            first="ascending",
        ),
        value_column(
            "MFLOP/byte",
            [cost.flops_per_byte for cost in costs],
            lambda value: significant(value / 1e6),
            name="flops_per_byte",
            meaning="what a byte of the text takes on its way through the model",
            first="ascending",
        ),
        *text_cost_columns([cost.text for cost in costs]),
    )


def text_cost_columns(costs: Sequence[TextCost]) -> list[Column]:
    """The same of some texts."""
    return known_columns(
        value_column(
            "chars/context",
            [cost.context_chars for cost in costs],
            lambda value: f"{value:,.0f}",
            name="context_chars",
            meaning="characters that fit into the context",
            first="ascending",
        ),
        value_column(
            "price/M chars",
            [cost.price_per_million_chars for cost in costs],
            significant,
            name="price_per_million_chars",
            meaning="the price of a million characters",
            first="ascending",
        ),
        value_column(
            "GFLOP/1k chars",
            [cost.attention_flops for cost in costs],
            lambda value: significant(value / 1e9),
            name="attention_flops_per_thousand_chars",
            meaning="attending over a thousand characters",
            first="ascending",
        ),
        value_column(
            "KV/1k chars",
            [cost.kv_cache_bytes for cost in costs],
            shown_megabytes,
            name="kv_cache_bytes_per_thousand_chars",
            meaning="keys and values of a thousand characters",
            first="ascending",
        ),
    )


def group_cost_columns(cost: Cost) -> list[Column]:
    """Model cost by group, in the order of the groups."""
    return text_cost_columns(list(cost.groups.values()))


def model_totals(cost: Cost) -> Iterator[tuple[str, str]]:
    """What is known of the costs of the vocabulary and of a full context, as it is shown."""
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
    """Bytes in millions.

    >>> shown_megabytes(8_190_000)
    '8.2 MB'
    """
    return f"{num_bytes / 1e6:,.1f} MB"


def model_of(model: Model) -> str | None:
    """The model that computations are for; None where nothing is computed."""
    return None if model.dim is None else f"MFLOP/byte: {described(model)}"
