"""The smallest of many hashes: samples by which two sets tell what they have in common."""

from __future__ import annotations

from heapq import heappush, heappushpop
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Smallest:
    """Keeps the smallest of the distinct numbers that it is given.

    >>> kept = Smallest(2)
    >>> for value in (5, 3, 9, 3, 4):
    ...     kept.add(value)
    >>> kept.values(), kept.largest
    ([3, 4], 4)
    """

    __slots__ = ("_heap", "_most", "_values", "largest")

    def __init__(self, most: int) -> None:
        """Nothing yet.

        Args:
            most: how many are kept.
        """
        self._most = most
        self._heap: list[int] = []  # negative: the largest is on top
        self._values: set[int] = set()
        self.largest = (1 << 64) - 1
        """Of those that are kept, once there are as many; a larger one need not be given."""

    def add(self, value: int) -> None:
        """Keep a number, if it is small enough."""
        if value > self.largest or value in self._values:
            return
        self._values.add(value)
        if len(self._heap) < self._most:
            heappush(self._heap, -value)
        else:
            self._values.remove(-heappushpop(self._heap, -value))
        if len(self._heap) == self._most:
            self.largest = -self._heap[0]

    def values(self) -> list[int]:
        """Those that are kept, ascending."""
        return sorted(self._values)


def share_of(sample: Sequence[str], known: Sequence[str], *, most: int, fewest: int = 1) -> float | None:
    """The share of one set that is in another, by samples of both: hashes, ascending, of equal length.

    Args:
        sample: of the set.
        known: of the other.
        most: how many hashes a sample has of a set that has more.
        fewest: hashes that an estimate needs; a share of whole sets needs one.

    Returns:
        None where there are too few hashes that could be compared.
    """
    among = set(known)
    # A sample that is full says nothing of hashes above its largest.
    is_whole = len(among) < most
    comparable = [value for value in sample if is_whole or value <= known[-1]]
    if not comparable or (not is_whole and len(comparable) < fewest):
        return None
    return sum(value in among for value in comparable) / len(comparable)
