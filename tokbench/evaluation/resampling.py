"""Metrics in the resamples of a bootstrap, and how far two tokenizers are apart in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.metrics.counts import DOCUMENT_COUNTS
from tokbench.metrics.intervals import interval_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokbench.evaluation.measuring import Evaluation
    from tokbench.metrics.catalogue import Metric
    from tokbench.metrics.intervals import Interval, Resamples


def resampled_values(
    metric: Metric, evaluation: Evaluation, drawn: Resamples | None
) -> NDArray[np.float64] | None:
    """A metric in each resample: float64[R]; None for one that is no ratio of counts by document."""
    names = {*metric.numerator, *metric.denominator}
    if drawn is None or metric.compute is not None or not names <= set(DOCUMENT_COUNTS):
        return None
    above = sum(evaluation.column(name) for name in metric.numerator)
    below = sum(evaluation.column(name) for name in metric.denominator)
    values = drawn.ratios(above, below)  # type: ignore[arg-type]  # a sum of arrays is one
    return 1 - values if metric.complement and values is not None else values


def difference(value: float | None, base: float | None, *, share: bool) -> float | None:
    """How far a value is from the baseline's: of shares the difference, else relative to the baseline's.

    >>> difference(0.5, 0.4, share=False), difference(0.5, 0.25, share=True), difference(1.0, 0.0, share=False)
    (0.25, 0.25, None)
    """
    if value is None or base is None:
        return None
    if share:
        return value - base
    return value / base - 1 if base else None


def difference_interval(
    values: NDArray[np.float64] | None, base: NDArray[np.float64] | None, *, share: bool
) -> Interval | None:
    """The interval of `difference` over the same resamples of both."""
    if values is None or base is None or (not share and not base.all()):
        return None
    return interval_of(values - base if share else values / base - 1)
