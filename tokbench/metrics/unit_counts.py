"""Counts added up by the unit of documents, and frequencies of ids by group and by set of units, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokbench.errors import ConfigError
from tokbench.metrics.catalogue import METRICS
from tokbench.metrics.kernel import current_kernel
from tokbench.metrics.metric import DOCUMENT_COUNTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tokbench.core.tokens import Encoded
    from tokbench.metrics.metric import Metric

MOST_UNITS = 4096
"""The most units that are kept apart; of more units, those with equal keys modulo this are one bucket."""

_WAITING_ROWS = 1 << 13
"""The most rows of a group that wait to be added up: some megabytes."""

_SCALE = 1 << 32
_COLUMNS = {name: column for column, name in enumerate(DOCUMENT_COUNTS)}


@dataclass(frozen=True, slots=True, eq=False)
class UnitCounts:
    """The counts of N units, or of N buckets of units.

    The contents depend only on the units and their counts, not on their order or on how they were joined.

    Attributes:
        keys: uint64[N], ascending; a unit's key is a uniform hash, a bucket's key the common remainder.
        counts: int64[N, K].
        are_buckets: whether there were more units than are kept apart.
    """

    keys: NDArray[np.uint64]
    counts: NDArray[np.int64]
    are_buckets: bool = False

    def in_buckets(self) -> UnitCounts:
        """Return the counts added up in buckets."""
        return (
            self
            if self.are_buckets
            else _add_up(self.keys % np.uint64(MOST_UNITS), self.counts, are_buckets=True)
        )

    def only(self, keys: NDArray[np.uint64]) -> UnitCounts:
        """Return the counts of some units."""
        is_wanted = np.isin(self.keys, keys)
        return UnitCounts(self.keys[is_wanted], self.counts[is_wanted], self.are_buckets)


class UnitSums:
    """Adds up counts by unit as they arrive."""

    def __init__(self, num_counts: int, *, most_units: int | None = MOST_UNITS) -> None:
        """Start with no counts.

        Args:
            num_counts: the number K of counts.
            most_units: the most units to keep apart; None keeps all.
        """
        self._most = most_units
        self._sums = UnitCounts(np.empty(0, np.uint64), np.empty((0, num_counts), np.int64))
        self._waiting: list[UnitCounts] = []
        self._rows = 0

    def add(self, keys: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
        """Add documents: uint64[D], the keys of their units, and int64[D, K], which are copied.

        The arrays may be views of larger ones, which would stay in memory as long as a few of their rows wait.
        """
        self.join(UnitCounts(keys.copy(), counts.copy()))

    def join(self, other: UnitCounts) -> None:
        """Add counts that were added up elsewhere."""
        self._waiting.append(other)
        self._rows += len(other.keys)
        if self._rows > _WAITING_ROWS:
            self._settle()

    def counts(self) -> UnitCounts:
        """Return the counts that were added up so far."""
        self._settle()
        return self._sums

    def _settle(self) -> None:
        if self._waiting:
            self._sums = joined((self._sums, *self._waiting), most_units=self._most)
            self._waiting, self._rows = [], 0


def joined(several: Iterable[UnitCounts], *, most_units: int | None = MOST_UNITS) -> UnitCounts:
    """Join counts by adding them up by unit.

    Args:
        several: at least one, with the same columns; keys may repeat, in any order.
        most_units: the most units to keep apart; None keeps all that are not in buckets yet.

    >>> one = UnitCounts(np.array([3, 9], np.uint64), np.array([[1], [10]]))
    >>> other = UnitCounts(np.array([9, 4], np.uint64), np.array([[100], [1000]]))
    >>> both = joined([one, other])
    >>> both.keys.tolist(), both.counts[:, 0].tolist()
    ([3, 4, 9], [1, 1000, 110])
    """
    parts = list(several)
    if any(part.are_buckets for part in parts):
        parts = [part.in_buckets() for part in parts]
    sums = _add_up(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.counts for part in parts]),
        are_buckets=parts[0].are_buckets,
    )
    return sums if most_units is None or len(sums.keys) <= most_units else sums.in_buckets()


def _add_up(keys: NDArray[np.uint64], counts: NDArray[np.int64], *, are_buckets: bool) -> UnitCounts:
    if not len(keys):
        return UnitCounts(keys, counts, are_buckets)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    firsts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return UnitCounts(keys[firsts], np.add.reduceat(counts[order], firsts, axis=0), are_buckets)


def is_by_document(metric: Metric) -> bool:
    """Whether a metric is a ratio of counts that are kept for each document."""
    return metric.compute is None and {*metric.numerator, *metric.denominator} <= set(DOCUMENT_COUNTS)


_PLACES = {
    name: len(DOCUMENT_COUNTS) + 3 * place
    for place, name in enumerate(name for name, metric in METRICS.items() if is_by_document(metric))
}
NUM_MEAN_COLUMNS = 3 * len(_PLACES)


def ratios_of(metric: Metric, counts: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the metric for each row of counts, whose columns begin with `DOCUMENT_COUNTS`; NaN if it has no value.

    Args:
        metric: a metric for which `is_by_document` holds.
        counts: [D, K].
    """
    above = sum(counts[:, _COLUMNS[name]] for name in metric.numerator)
    below = sum(counts[:, _COLUMNS[name]] for name in metric.denominator)
    values = divided(np.asarray(above, np.float64), np.asarray(below, np.float64))
    return 1 - values if metric.complement else values


def divided(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide element by element; NaN if the divisor is 0."""
    values = np.full(len(below), np.nan)
    np.divide(above, below, out=values, where=below != 0)
    return values


def mean_columns(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the columns that `means_of` needs besides the counts of each document: exact sums in any order.

    A ratio is not an integer, and floating-point sums depend on their order in the last digits. So each document's
    ratio is rounded to a multiple of 2⁻³², and summed in two columns: its integer part, and its fraction in units of
    2⁻³².

    Args:
        rows: int64[D, len(DOCUMENT_COUNTS)].

    Returns:
        int64[D, NUM_MEAN_COLUMNS]: for each metric whether it has a value, and the two columns of that value.
    """
    columns = np.zeros((len(rows), NUM_MEAN_COLUMNS), dtype=np.int64)
    for name, place in _PLACES.items():
        column = place - len(DOCUMENT_COUNTS)
        values = ratios_of(METRICS[name], rows)
        is_known = ~np.isnan(values)
        values = np.where(is_known, values, 0)
        columns[:, column] = is_known
        columns[:, column + 1] = wholes = np.floor(values)
        columns[:, column + 2] = np.rint((values - wholes) * _SCALE)
    return columns


def means_of(metric: Metric, sums: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of a metric over documents, for each row of sums; NaN if no document has a value.

    Args:
        metric: a metric for which `is_by_document` holds.
        sums: [R, len(DOCUMENT_COUNTS) + NUM_MEAN_COLUMNS].
    """
    known, wholes, rest = (
        np.asarray(sums[:, _PLACES[metric.name] + column], np.float64) for column in range(3)
    )
    return divided(wholes + rest / _SCALE, known)


_MOST_FREQUENCIES = 1 << 26
"""Maximum number of counts by group and id: half a gigabyte."""
_SETS, _MOST_IN_SETS = 64, 1 << 24
"""Maximum number of sets of units, and of counts by set and id: 128 MB."""


class GroupFrequencies:
    """Frequencies of ids, kept by group as long as the memory limit allows."""

    def __init__(self, vocab_size: int) -> None:
        self._vocab_size = vocab_size
        self._all = np.zeros(vocab_size, dtype=np.int64)
        self._groups: dict[str, NDArray[np.int64]] | None = {}

    def add(self, group: str, ids: NDArray[np.uint32]) -> None:
        """Count the ids of some text of a group, uint32[N]. Raises `ConfigError` for ids outside the vocabulary."""
        try:
            current_kernel().count_ids(ids, self._counts_of(group))
        except ValueError:
            raise ConfigError(
                f"a tokenizer gives the id {ids.max()}, outside its vocabulary of {self._vocab_size:,} tokens",
                hint="this is a fault of its backend: its vocab_size must be above all ids",
            ) from None

    def join(self, all_text: NDArray[np.int64], groups: dict[str, NDArray[np.int64]] | None) -> None:
        """Add counts made elsewhere: those without a group, and those by group (None if they were not kept)."""
        if groups is None:
            self._give_up()
        for name, counts in (groups or {}).items():
            self._counts_of(name)[:] += counts
        self._all += all_text

    def parts(self) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]] | None]:
        """Return the counts in the form that `join` accepts."""
        return self._all, self._groups

    def of(self, group: str) -> NDArray[np.int64] | None:
        """Return the frequencies on the text of a group; None if they are not kept by group."""
        return None if self._groups is None else self._groups[group]

    @property
    def total(self) -> NDArray[np.int64]:
        """Frequencies on all text."""
        return self._all if self._groups is None else np.sum([self._all, *self._groups.values()], axis=0)

    def _counts_of(self, group: str) -> NDArray[np.int64]:
        if self._groups is not None and group not in self._groups:
            if (len(self._groups) + 1) * self._vocab_size > _MOST_FREQUENCIES:
                self._give_up()
            else:
                self._groups[group] = np.zeros(self._vocab_size, dtype=np.int64)
        return self._all if self._groups is None else self._groups[group]

    def _give_up(self) -> None:
        self._all, self._groups = self.total, None


def most_sets(vocab_size: int) -> int:
    """Return the maximum number of sets: a power of two, so that sets of a smaller number consist of whole ones.

    >>> [most_sets(vocab_size) for vocab_size in (50_257, 1 << 18, 262_145, 1 << 20, 1 << 25)]
    [64, 64, 32, 16, 0]
    """
    fitting = _MOST_IN_SETS // max(vocab_size, 1)
    return min(_SETS, 1 << fitting.bit_length() - 1) if fitting else 0


def in_fewer_sets(
    keys: NDArray[np.uint64], counts: NDArray[np.int64], num_sets: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Distribute sets of units over at most this many larger sets, by their keys.

    Args:
        keys: uint64[S], the keys of units, or of sets whose number was a multiple of `num_sets`.
        counts: int64[S, V].
        num_sets: a power of two.

    Returns:
        The keys and the counts of the larger sets.

    >>> keys, counts = in_fewer_sets(np.array([1, 6, 9], np.uint64), np.array([[1], [10], [100]]), 4)
    >>> keys.tolist(), counts.tolist()
    ([1, 2], [[101], [10]])
    """
    larger = _add_up(keys % np.uint64(num_sets), counts, are_buckets=True)
    return larger.keys, larger.counts


class SetFrequencies:
    """Frequencies of ids in each set of units: one set per unit up to 64; more units are distributed by their keys.

    A very large vocabulary has fewer sets (`most_sets`).
    """

    def __init__(self, vocab_size: int) -> None:
        self._most = most_sets(vocab_size)
        self._counts = np.zeros((self._most, vocab_size), dtype=np.int64)
        self._rows: dict[int, int] = {}
        self._are_buckets = False

    def add(self, keys: NDArray[np.uint64], encoded: Encoded) -> None:
        """Count the ids of documents, given the keys of their units (uint64[D]) and their tokens."""
        if not self._most:
            return
        firsts = (self._rows_of(keys) * self._counts.shape[1]).astype(np.uint32)
        ids = np.repeat(firsts, np.diff(encoded.offsets)) + encoded.ids
        current_kernel().count_ids(ids, self._counts.reshape(-1))

    def join(self, keys: NDArray[np.uint64], counts: NDArray[np.int64], *, are_buckets: bool) -> None:
        """Add the result of `parts` of another object."""
        if not self._most:
            return
        if are_buckets and not self._are_buckets:
            self._deal()
        rows = self._rows_of(keys)  # before `self._counts` is read, which this call may replace
        np.add.at(self._counts, rows, counts)

    def parts(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], bool]:
        """Return the keys of the sets (units or buckets), ascending, their counts, and whether the sets are buckets."""
        keys = sorted(self._rows)
        rows = [self._rows[key] for key in keys]
        return np.array(keys, dtype=np.uint64), self._counts[rows], self._are_buckets

    def _rows_of(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the row of each key."""
        buckets = keys % np.uint64(self._most) if self._are_buckets else keys
        distinct, positions = np.unique(buckets, return_inverse=True)
        fresh = [key for key in distinct.tolist() if key not in self._rows]
        if not self._are_buckets and len(self._rows) + len(fresh) > self._most:
            self._deal()
            return self._rows_of(keys)
        for key in fresh:
            self._rows[key] = key if self._are_buckets else len(self._rows)
        return np.array([self._rows[key] for key in distinct.tolist()], dtype=np.int64)[positions]

    def _deal(self) -> None:
        counts = np.zeros_like(self._counts)
        for key, row in self._rows.items():
            counts[key % self._most] += self._counts[row]
        self._rows = {key % self._most: key % self._most for key in self._rows}
        self._counts, self._are_buckets = counts, True
