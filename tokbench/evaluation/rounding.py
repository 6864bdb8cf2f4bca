"""Rounding of changes: a significant change never looks like none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokbench.metrics.bootstrap import Interval

_MOST_DIGITS = 3


def change_digits(change: float, interval: Interval | None) -> int:
    """Return how many digits of a percentage tell a change from 0, if it and its interval do: usually one.

    Args:
        change: the change, as a share.
        interval: its interval.

    >>> from tokbench.metrics.bootstrap import Interval
    >>> change_digits(0.17, Interval(0.12, 0.22)), change_digits(0.0003, Interval(0.00021, 0.0004))
    (1, 2)
    >>> change_digits(0.0003, Interval(-0.0002, 0.0008)), change_digits(0.0003, None)
    (1, 1)
    """
    if interval is None or interval.spans_zero:
        return 1
    nearest = min(abs(change), abs(interval.low), abs(interval.high)) * 100
    return next((digits for digits in range(1, _MOST_DIGITS) if round(nearest, digits)), _MOST_DIGITS)
