"""Figures as they are written: shares in percent, everything else with the digits that mean something."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokbench.evaluation.comparison import Judged
    from tokbench.metrics.catalogue import Metric

LOSSY = "?"
_MOST_UNKNOWN = 0.01
_NONE = "–"
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def shown(value: float | None, metric: Metric) -> str:
    """A value of a metric; "–" where there is none.

    >>> from tokbench.metrics.catalogue import METRICS
    >>> shown(0.12345, METRICS["unk_rate"]), shown(3.14159, METRICS["bytes_per_token"])
    ('12.35 %', '3.142')
    >>> shown(0.999999, METRICS["roundtrip_rate"]), shown(None, METRICS["unk_rate"])
    ('99.99 %', '–')
    """
    if value is None:
        return _NONE
    return _percent(value) if metric.share else f"{value:,.3f}"


def _percent(share: float) -> str:
    """Rounded, but what is not everything never looks like 100 %, and what is something never like 0 %."""
    if 0.9999 < share < 1:
        return "99.99 %"
    if 0 < share < 0.00005:
        return "<0.01 %"
    return f"{share * 100:.2f} %" if 0 < share < 1 else f"{share * 100:.0f} %"


def shown_premium(one: Judged, language: str) -> str:
    """What a language costs over the reference; with a "?" where it is cheap because text is lost.

    Unknown tokens stand for any number of characters: from one in a hundred on the figure says little.
    """
    premium = None if one.fairness is None else one.fairness.premiums.get(language)
    if premium is None:
        return _NONE
    return f"{premium:.3f}{LOSSY if loses_text(one, language) else ''}"


def loses_text(one: Judged, group: str) -> bool:
    """Whether so many tokens of a group are unknown that its text looks cheaper than it is."""
    return (one.groups[group]["unk_rate"].value or 0) > _MOST_UNKNOWN


def shown_difference(judged: Judged, metric: Metric) -> str:
    """How far a tokenizer is from the baseline, with half the width of the interval: in percent, shares in points."""
    figure = judged.figures[metric.name]
    if figure.difference is None:
        return _NONE
    text = f"{figure.difference * 100:+.1f} {'pp' if metric.share else '%'}"
    if figure.difference_interval is None:
        return text
    half = (figure.difference_interval.high - figure.difference_interval.low) / 2
    sign = "" if figure.is_distinguishable else "≈ "
    return f"{sign}{text} ±{half * 100:.1f}"


def bar(value: float | None, longest: float, *, width: int) -> str:
    """A bar of eighths of a column.

    >>> bar(1.0, 2.0, width=4), bar(None, 2.0, width=4)
    ('██  ', '    ')
    """
    if value is None or longest <= 0:
        return " " * width
    eighths = round(value / longest * width * 8)
    whole, rest = divmod(min(eighths, width * 8), 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(width)
