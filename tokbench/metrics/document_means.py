"""Means of metrics over documents, as whole numbers that can be added up in any order.

A ratio is not a whole number, and sums of such numbers depend on their order in the last digits. So each document's
ratio is rounded to a multiple of 2⁻³², and summed in two columns: the whole numbers, and what is left in units of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokbench.metrics.catalogue import METRICS
from tokbench.metrics.tally import DOCUMENT_COUNTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokbench.metrics.metric import Metric

_SCALE = 1 << 32
_COLUMNS = {name: column for column, name in enumerate(DOCUMENT_COUNTS)}


def is_by_document(metric: Metric) -> bool:
    """Whether a metric is a ratio of counts that are kept for each document."""
    return metric.compute is None and {*metric.numerator, *metric.denominator} <= set(DOCUMENT_COUNTS)


_PLACES = {
    name: len(DOCUMENT_COUNTS) + 3 * place
    for place, name in enumerate(name for name, metric in METRICS.items() if is_by_document(metric))
}
NUM_MEAN_COLUMNS = 3 * len(_PLACES)


def ratios_of(metric: Metric, counts: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
    """The metric of each row of counts, whose columns begin with `DOCUMENT_COUNTS`; NaN where it has no value.

    Args:
        metric: one by document.
        counts: [D, K].
    """
    above = sum(counts[:, _COLUMNS[name]] for name in metric.numerator)
    below = sum(counts[:, _COLUMNS[name]] for name in metric.denominator)
    values = divided(np.asarray(above, np.float64), np.asarray(below, np.float64))
    return 1 - values if metric.complement else values


def divided(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    """One over the other, element by element; NaN where there is nothing to divide by."""
    values = np.full(len(below), np.nan)
    np.divide(above, below, out=values, where=below != 0)
    return values


def mean_columns(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """What `means_of` needs beside the counts of each document.

    Args:
        rows: int64[D, len(DOCUMENT_COUNTS)].

    Returns:
        int64[D, NUM_MEAN_COLUMNS]: of each metric whether it has a value there, and that value in two columns.
    """
    found = np.zeros((len(rows), NUM_MEAN_COLUMNS), dtype=np.int64)
    for name, place in _PLACES.items():
        column = place - len(DOCUMENT_COUNTS)
        values = ratios_of(METRICS[name], rows)
        is_known = ~np.isnan(values)
        values = np.where(is_known, values, 0)
        found[:, column] = is_known
        found[:, column + 1] = wholes = np.floor(values)
        found[:, column + 2] = np.rint((values - wholes) * _SCALE)
    return found


def means_of(metric: Metric, sums: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of a metric over documents, by each row of sums; NaN where none of them has a value.

    Args:
        metric: one by document.
        sums: [R, len(DOCUMENT_COUNTS) + NUM_MEAN_COLUMNS].
    """
    known, wholes, rest = (np.asarray(sums[:, _PLACES[metric.name] + each], np.float64) for each in range(3))
    return divided(wholes + rest / _SCALE, known)
