"""Frequencies of ids, by group and by set of units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokbench.errors import ConfigError
from tokbench.metrics.kernel import current_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokbench.core.tokens import Encoded

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


class SetFrequencies:
    """Frequencies of ids in each set of units: one set per unit up to 64; more units are distributed by their keys."""

    def __init__(self, vocab_size: int) -> None:
        self._most = min(_SETS, _MOST_IN_SETS // max(vocab_size, 1))
        self._counts = np.zeros((self._most, vocab_size), dtype=np.int64)
        self._rows: dict[int, int] = {}
        self._are_dealt = False

    def add(self, keys: NDArray[np.uint64], encoded: Encoded) -> None:
        """Count the ids of documents, given the keys of their units (uint64[D]) and their tokens."""
        if not self._most:
            return
        firsts = (self._rows_of(keys) * self._counts.shape[1]).astype(np.uint32)
        ids = np.repeat(firsts, np.diff(encoded.offsets)) + encoded.ids
        current_kernel().count_ids(ids, self._counts.reshape(-1))

    def join(self, keys: NDArray[np.uint64], counts: NDArray[np.int64], *, are_dealt: bool) -> None:
        """Add the result of `parts` of another object."""
        if not self._most:
            return
        if are_dealt and not self._are_dealt:
            self._deal()
        rows = self._rows_of(keys)  # before `self._counts` is read, which this call may replace
        np.add.at(self._counts, rows, counts)

    def parts(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], bool]:
        """Return the keys of the sets (units or lots), ascending, their counts, and whether the sets are lots."""
        keys = sorted(self._rows)
        rows = [self._rows[key] for key in keys]
        return np.array(keys, dtype=np.uint64), self._counts[rows], self._are_dealt

    def _rows_of(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the row of each key."""
        lots = keys % np.uint64(self._most) if self._are_dealt else keys
        distinct, positions = np.unique(lots, return_inverse=True)
        fresh = [key for key in distinct.tolist() if key not in self._rows]
        if not self._are_dealt and len(self._rows) + len(fresh) > self._most:
            self._deal()
            return self._rows_of(keys)
        for key in fresh:
            self._rows[key] = key if self._are_dealt else len(self._rows)
        return np.array([self._rows[key] for key in distinct.tolist()], dtype=np.int64)[positions]

    def _deal(self) -> None:
        counts = np.zeros_like(self._counts)
        for key, row in self._rows.items():
            counts[key % self._most] += self._counts[row]
        self._rows = {key % self._most: key % self._most for key in self._rows}
        self._counts, self._are_dealt = counts, True
