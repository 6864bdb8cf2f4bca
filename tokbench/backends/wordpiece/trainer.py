"""The fast trainer in Python: the pieces of `reference.train`, with counts that are updated instead of recomputed.

When a pair is joined, only the words that contain it change, and the counts of pairs and pieces
are updated from those words. The next pair is found by scanning the arrays of all pairs: by
likelihood, the score of a pair changes with every occurrence of its pieces, so a priority queue
of scores would be outdated after each step.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tokbench.backends.wordpiece.reference import characters

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.backends.wordpiece.reference import Objective, Pair

_REPORT_EVERY = 64
_FIRST_CAPACITY = 1 << 12
_ID_BITS = 31
_ROUNDING = 1e-12  # far above the total error of three float64 roundings


def train(
    words: Mapping[str, int],
    *,
    pieces: Sequence[str],
    letters: Collection[str],
    num_pieces: int,
    objective: Objective,
    min_frequency: int = 2,
    prefix: str = "##",
    progress: Callable[[int], None] | None = None,
) -> list[str]:
    """Return the pieces that `reference.train` learns with the same arguments.

    `progress` is called regularly with the number of pieces so far.

    >>> train({"hug": 9, "hugs": 5}, pieces=["g", "h", "s", "u", "##g", "##s", "##u"], letters="ghsu",
    ...       num_pieces=9, objective="frequency")[-2:]
    ['hu', 'hug']
    """
    trainer = _Trainer(words, pieces=pieces, letters=frozenset(letters), objective=objective, prefix=prefix)
    while len(trainer.spellings) < num_pieces and trainer.step(min_frequency):
        if progress is not None and len(trainer.spellings) % _REPORT_EVERY == 0:
            progress(len(trainer.spellings))
    return trainer.spellings


class _PairTable:
    """A table with one row per pair: its pieces, its count, and the words that may contain it."""

    def __init__(self) -> None:
        self.rows: dict[Pair, int] = {}
        self.places: list[set[int]] = []
        self.left = np.zeros(_FIRST_CAPACITY, dtype=np.int64)
        self.right = np.zeros(_FIRST_CAPACITY, dtype=np.int64)
        self.counts = np.zeros(_FIRST_CAPACITY, dtype=np.int64)
        self._num_gone = 0

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, pair: Pair) -> int:
        """Return the row of a pair; a new row if it has none."""
        row = self.rows.get(pair)
        if row is None:
            row = self.rows[pair] = len(self.rows)
            if row == len(self.counts):
                self.left, self.right, self.counts = map(_doubled, (self.left, self.right, self.counts))
            self.left[row], self.right[row] = pair
            self.places.append(set())
        return row

    def change(self, changes: Mapping[Pair, int]) -> None:
        """Add to the counts; drop the pairs without occurrences once they are the majority."""
        for pair, change in changes.items():
            if change:
                row = self.row(pair)
                before = self.counts[row]
                self.counts[row] = before + change
                self._num_gone += int(before + change == 0) - int(before == 0)
        if self._num_gone > max(len(self) // 2, _FIRST_CAPACITY):
            self._drop_gone()

    def _drop_gone(self) -> None:
        kept = np.flatnonzero(self.counts[: len(self)])
        self.left, self.right, self.counts = self.left[kept], self.right[kept], self.counts[kept]
        self.places = [self.places[row] for row in kept.tolist()]
        pairs = zip(self.left.tolist(), self.right.tolist(), strict=True)
        self.rows = {pair: row for row, pair in enumerate(pairs)}
        self._num_gone = 0

    def smallest(self, rows: NDArray[np.int64]) -> int:
        """Return the row with the smallest (left id, right id)."""
        return int(rows[np.argmin((self.left[rows] << _ID_BITS) | self.right[rows])])


class _Trainer:
    """The state of a training: words as lists of ids, the counts of pairs and pieces, and the pieces so far."""

    def __init__(
        self,
        words: Mapping[str, int],
        *,
        pieces: Sequence[str],
        letters: Collection[str],
        objective: Objective,
        prefix: str,
    ) -> None:
        self.spellings = list(pieces)
        self._ids = {spelling: id for id, spelling in enumerate(self.spellings)}
        self._prefix = prefix
        self._best = self._most_frequent if objective == "frequency" else self._likeliest
        self._weights = list(words.values())
        self._words = [
            [self._ids[piece] for piece in characters(word, letters=letters, prefix=prefix)] for word in words
        ]
        self._piece_counts = np.zeros(max(2 * len(pieces), 1), dtype=np.int64)
        self._pairs = _PairTable()
        changes: defaultdict[Pair, int] = defaultdict(int)
        for number, (word, weight) in enumerate(zip(self._words, self._weights, strict=True)):
            for piece in word:
                self._piece_counts[piece] += weight
            self._add_pairs(number, word, weight, changes)
        self._pairs.change(changes)

    def step(self, min_frequency: int) -> bool:
        """Join the best pair; return False if no pair is frequent enough."""
        row = self._best(min_frequency)
        if row is None:
            return False
        left, right = pair = int(self._pairs.left[row]), int(self._pairs.right[row])
        joined = self._id(self.spellings[left] + self.spellings[right].removeprefix(self._prefix))
        self._join(pair, joined, places=self._pairs.places[row])
        return True

    def _id(self, spelling: str) -> int:
        """Return the id of a piece, which may exist already: "abc" is both "a" "##bc" and "ab" "##c"."""
        id = self._ids.setdefault(spelling, len(self.spellings))
        if id == len(self.spellings):
            self.spellings.append(spelling)
            if id >= len(self._piece_counts):
                self._piece_counts = _doubled(self._piece_counts)
        return id

    def _join(self, pair: Pair, joined: int, *, places: set[int]) -> None:
        changes: defaultdict[Pair, int] = defaultdict(int)
        taken = 0
        for number in tuple(places):
            word, weight = self._words[number], self._weights[number]
            after = _joined(word, pair, joined)
            if len(after) == len(word):
                continue
            for old_pair in pairwise(word):
                changes[old_pair] -= weight
            self._add_pairs(number, after, weight, changes)
            taken += weight * (len(word) - len(after))
            self._words[number] = after
        places.clear()
        for piece in pair:
            self._piece_counts[piece] -= taken
        self._piece_counts[joined] += taken
        self._pairs.change(changes)

    def _add_pairs(self, number: int, word: list[int], weight: int, changes: defaultdict[Pair, int]) -> None:
        for pair in pairwise(word):
            changes[pair] += weight
            self._pairs.places[self._pairs.row(pair)].add(number)

    # --- the next pair ------------------------------------------------------------------------

    def _most_frequent(self, min_frequency: int) -> int | None:
        counts = self._pairs.counts[: len(self._pairs)]
        highest = counts.max(initial=0)
        if highest < max(min_frequency, 1):
            return None
        return self._pairs.smallest(np.flatnonzero(counts == highest))

    def _likeliest(self, min_frequency: int) -> int | None:
        """Return the row with the highest count(ab) / (count(a) · count(b)).

        Floats select the rows close to the maximum, and exact arithmetic decides among these.
        """
        table, size = self._pairs, len(self._pairs)
        frequent = np.flatnonzero(table.counts[:size] >= max(min_frequency, 1))
        if not frequent.size:
            return None
        pieces = self._piece_counts.astype(np.float64)
        scores = table.counts[frequent] / (pieces[table.left[frequent]] * pieces[table.right[frequent]])
        near = frequent[scores >= scores.max() * (1 - _ROUNDING)]
        return table.smallest(self._exactly_likeliest(near))

    def _exactly_likeliest(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows with the highest score, compared exactly with integers of any size."""
        counts: list[int] = self._pairs.counts[rows].tolist()
        lefts: list[int] = self._piece_counts[self._pairs.left[rows]].tolist()
        rights: list[int] = self._piece_counts[self._pairs.right[rows]].tolist()
        products = [left * right for left, right in zip(lefts, rights, strict=True)]
        count, product = counts[0], products[0]
        for other_count, other_product in zip(counts, products, strict=True):
            if other_count * product > count * other_product:
                count, product = other_count, other_product
        pairs = zip(counts, products, strict=True)
        best = [
            place
            for place, (this_count, this_product) in enumerate(pairs)
            if this_count * product == count * this_product
        ]
        return rows.take(best)


def _joined(word: list[int], pair: Pair, joined: int) -> list[int]:
    left, right = pair
    result: list[int] = []
    position, last = 0, len(word) - 1
    while position <= last:
        if position < last and word[position] == left and word[position + 1] == right:
            result.append(joined)
            position += 2
        else:
            result.append(word[position])
            position += 1
    return result


def _doubled(values: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([values, np.zeros_like(values)])
