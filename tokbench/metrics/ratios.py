"""Ratios that may have nothing to divide by."""

from __future__ import annotations


def ratio(numerator: float, denominator: float) -> float | None:
    """One number over another; None, never 0, where there is nothing to divide by.

    >>> ratio(6, 4), ratio(0, 4), ratio(6, 0)
    (1.5, 0.0, None)
    """
    return numerator / denominator if denominator else None
