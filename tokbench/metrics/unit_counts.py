"""Counts added up by the unit that documents were drawn with, in memory that does not grow with the documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

MOST_UNITS = 4096
"""Units that are kept apart; of more, those whose keys leave the same rest are drawn together, as one lot."""

_WAITING_ROWS = 1 << 13
"""That are kept before they are added up, of each group: some megabytes."""


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
        """Those of some units."""
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
