"""Replay of merges on words in rank order, with the counts of all pairs at each turn.

A training step merges the pair with the highest count. Counts are updated incrementally: a merge changes only those of
the words that contain it. A heap yields the highest count: a pair whose count rises is pushed again, and a count that
has fallen is corrected when its pair reaches the top.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.lint.training.words import Word

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Turn:
    """One merge at its turn.

    Attributes:
        rank: rank of the merge.
        merge: (left id, right id, merged id).
        count: number of occurrences of its pair.
        best: the most frequent pair, except pairs that an earlier turn skipped; None if there is none.
        best_count: number of occurrences of the best pair.
    """

    rank: int
    merge: tuple[int, int, int]
    count: int
    best: Pair | None
    best_count: int

    @property
    def is_best(self) -> bool:
        """Whether the pair occurred, and no other pair was more frequent."""
        return self.count > 0 and self.count >= self.best_count


def replay(
    words: Mapping[Word, int],
    merges: Sequence[tuple[int, int, int]],
    *,
    sizes: Mapping[int, int],
    longest: int | None = None,
) -> Iterator[Turn]:
    """Yield each merge at its turn; a merge is applied when the next one is requested.

    A pair that should have been merged but was not is blamed on one merge only: it is then excluded until it is merged.
    So a moved merge is a single fault, instead of one for every later merge.

    Args:
        words: pre-token as symbol ids → count.
        merges: the merges in the order in which they were learned.
        sizes: id → length of the token.
        longest: maximum length of a token that a candidate pair may form; None for no limit.

    >>> [turn.best_count for turn in replay({(97, 97, 98): 2}, [(97, 97, 256), (256, 98, 257)], sizes={})]
    [2, 2]
    """
    state = _State(words, sizes=sizes, longest=longest)
    for rank, merge in enumerate(merges):
        count = state.counts.get(merge[:2], 0)
        best, best_count = state.best()
        turn = Turn(rank, merge, count, best, best_count)
        yield turn
        if best is not None and not turn.is_best:
            state.passed_over.add(best)
        state.apply(*merge)


class _State:
    """The partially merged words, and the counts of their pairs."""

    def __init__(self, words: Mapping[Word, int], *, sizes: Mapping[int, int], longest: int | None) -> None:
        self._words = [list(word) for word in words if len(word) > 1]
        self._word_counts = [count for word, count in words.items() if len(word) > 1]
        self._sizes = dict(sizes)
        self._longest = longest
        self.passed_over: set[Pair] = set()
        self.counts: dict[Pair, int] = {}
        self._places: dict[Pair, set[int]] = {}
        for number, word in enumerate(self._words):
            times = self._word_counts[number]
            for pair in pairwise(word):
                self.counts[pair] = self.counts.get(pair, 0) + times
                self._places.setdefault(pair, set()).add(number)
        self._heap = [(-count, pair) for pair, count in self.counts.items() if self._may_merge(pair)]
        heapq.heapify(self._heap)

    def best(self) -> tuple[Pair | None, int]:
        """Return the pair with the highest count, ties broken by the smallest pair, and its count."""
        heap = self._heap
        while heap:
            count, pair = heap[0]
            now = 0 if pair in self.passed_over else self.counts.get(pair, 0)
            if now == -count:
                return pair, now
            if now and now < -count:
                heapq.heapreplace(heap, (-now, pair))
            else:
                heapq.heappop(heap)
        return None, 0

    def apply(self, left: int, right: int, made: int) -> None:
        """Merge all occurrences of a pair, from left to right."""
        pair = (left, right)
        self.passed_over.discard(pair)
        self._sizes[made] = self._sizes.get(left, 1) + self._sizes.get(right, 1)
        changes: dict[Pair, int] = {}
        for number in self._places.pop(pair, ()):
            self._merge_in_word(number, left, right, made, changes)
        for changed, change in changes.items():
            if change:
                self._change(changed, change)

    def _merge_in_word(self, number: int, left: int, right: int, made: int, changes: dict[Pair, int]) -> None:
        """Merge a pair in one word, which may not contain it any more, and add the changes of counts to `changes`."""
        word, times, places = self._words[number], self._word_counts[number], self._places
        place = -1
        while left in word[place + 1 :]:
            place = word.index(left, place + 1)
            if place + 1 == len(word) or word[place + 1] != right:
                continue
            lost, gained = [(left, right)], []
            if place:
                lost.append((word[place - 1], left))
                gained.append((word[place - 1], made))
            if place + 2 < len(word):
                lost.append((right, word[place + 2]))
                gained.append((made, word[place + 2]))
            for old in lost:
                changes[old] = changes.get(old, 0) - times
            for new in gained:
                changes[new] = changes.get(new, 0) + times
                places.setdefault(new, set()).add(number)
            word[place : place + 2] = [made]

    def _change(self, pair: Pair, change: int) -> None:
        count = self.counts.get(pair, 0) + change
        if count:
            self.counts[pair] = count
        else:
            self.counts.pop(pair, None)
        if change > 0 and self._may_merge(pair):
            heapq.heappush(self._heap, (-count, pair))

    def _may_merge(self, pair: Pair) -> bool:
        if self._longest is None:
            return True
        return self._sizes.get(pair[0], 1) + self._sizes.get(pair[1], 1) <= self._longest
