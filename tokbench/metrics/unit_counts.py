"""Counts added up by the unit that documents were drawn with, in memory that does not grow with the documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokbench.metrics.catalogue import METRICS
from tokbench.metrics.metric import DOCUMENT_COUNTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tokbench.metrics.metric import Metric

MOST_UNITS = 4096
"""Units that are kept apart; of more, those whose keys leave the same rest are drawn together, as one lot."""

_WAITING_ROWS = 1 << 13
"""That are kept before they are added up, of each group: some megabytes."""

_SCALE = 1 << 32
_COLUMNS = {name: column for column, name in enumerate(DOCUMENT_COUNTS)}


@dataclass(frozen=True, slots=True, eq=False)
class UnitCounts:
    """The counts of N units, or of N lots of them.

    What this is depends on the units and their counts alone: not on their order, nor on how they came together.

    Attributes:
        keys: uint64[N], ascending; a unit's key is a hash that spreads over all numbers, a lot's its rest.
        counts: int64[N, K].
        are_lots: whether there were more units than are kept apart.
    """

    keys: NDArray[np.uint64]
    counts: NDArray[np.int64]
    are_lots: bool = False

    def as_lots(self) -> UnitCounts:
        """The same in lots."""
        return self if self.are_lots else _added(_lots(self.keys), self.counts, are_lots=True)

    def only(self, keys: NDArray[np.uint64]) -> UnitCounts:
        """The counts of some units."""
        is_wanted = np.isin(self.keys, keys)
        return UnitCounts(self.keys[is_wanted], self.counts[is_wanted], self.are_lots)


class UnitSums:
    """Adds up counts by unit while they come."""

    def __init__(self, num_counts: int, *, most_units: int | None = MOST_UNITS) -> None:
        """Nothing yet.

        Args:
            num_counts: K.
            most_units: how many are kept apart; None keeps all.
        """
        self._most = most_units
        self._sums = UnitCounts(np.empty(0, np.uint64), np.empty((0, num_counts), np.int64))
        self._waiting: list[UnitCounts] = []
        self._rows = 0

    def add(self, keys: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
        """Count documents: uint64[D], the keys of their units, and int64[D, K], which are copied.

        They are part of larger arrays, which would stay in memory as long as a few rows of theirs wait.
        """
        self.join(UnitCounts(keys.copy(), counts.copy()))

    def join(self, other: UnitCounts) -> None:
        """Count what was added up elsewhere."""
        self._waiting.append(other)
        self._rows += len(other.keys)
        if self._rows > _WAITING_ROWS:
            self._settle()

    def counts(self) -> UnitCounts:
        """What has been added up so far."""
        self._settle()
        return self._sums

    def _settle(self) -> None:
        if self._waiting:
            self._sums = joined((self._sums, *self._waiting), most_units=self._most)
            self._waiting, self._rows = [], 0


def joined(several: Iterable[UnitCounts], *, most_units: int | None = MOST_UNITS) -> UnitCounts:
    """The sums of several by unit.

    Args:
        several: at least one, with the same columns; keys may come twice, in any order.
        most_units: how many are kept apart; None keeps all that are not in lots yet.

    >>> one = UnitCounts(np.array([3, 9], np.uint64), np.array([[1], [10]]))
    >>> other = UnitCounts(np.array([9, 4], np.uint64), np.array([[100], [1000]]))
    >>> both = joined([one, other])
    >>> both.keys.tolist(), both.counts[:, 0].tolist()
    ([3, 4, 9], [1, 1000, 110])
    """
    found = list(several)
    if any(one.are_lots for one in found):
        found = [one.as_lots() for one in found]
    sums = _added(
        np.concatenate([one.keys for one in found]),
        np.concatenate([one.counts for one in found]),
        are_lots=found[0].are_lots,
    )
    return sums if most_units is None or len(sums.keys) <= most_units else sums.as_lots()


def _lots(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return keys % np.uint64(MOST_UNITS)


def _added(keys: NDArray[np.uint64], counts: NDArray[np.int64], *, are_lots: bool) -> UnitCounts:
    if not len(keys):
        return UnitCounts(keys, counts, are_lots)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    firsts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return UnitCounts(keys[firsts], np.add.reduceat(counts[order], firsts, axis=0), are_lots)


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
    """What `means_of` needs beside the counts of each document: means as whole numbers, added up in any order.

    A ratio is not a whole number, and sums of such numbers depend on their order in the last digits. So each
    document's ratio is rounded to a multiple of 2⁻³², and summed in two columns: the whole numbers, and what is left
    in units of that.

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
