"""Merges applied to words in their order, with what every pair counts at each turn.

A step of training takes the pair with the highest count. The counts are kept up to date: a merge changes those
of the words that it is in. The highest is on top of a heap: a pair whose count rises is put on it again, and one whose
count has fallen since is found out when it comes to the top.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tokbench.core.progress import no_progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.core.progress import Progress
    from tokbench.lint.training.words import Word

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Turn:
    """One merge at its turn.

    Attributes:
        rank: its place among the merges.
        merge: the left, right and made id.
        count: how often its pair stood together.
        best: the pair that stood together most often, of those that no earlier turn skipped; None for none.
        best_count: how often.
    """

    rank: int
    merge: tuple[int, int, int]
    count: int
    best: Pair | None
    best_count: int

    @property
    def is_best(self) -> bool:
        """Whether it stood together, and no other pair more often."""
        return self.count > 0 and self.count >= self.best_count


def replay(
    words: Mapping[Word, int],
    merges: Sequence[tuple[int, int, int]],
    *,
    sizes: Mapping[int, int],
    longest: int | None = None,
    progress: Progress = no_progress,
) -> Iterator[Turn]:
    """Each merge at its turn; the next is applied when it is asked for.

    A pair that should have been merged and was not is held against one merge alone: from then on it is left out, until
    it is merged. So a merge that was moved is one fault, and not one of every merge after it.

    Args:
        words: pre-tokens as ids, and their counts.
        merges: in the order in which they were learned.
        sizes: the bytes of each id.
        longest: pairs that would make a token of more bytes are not candidates; None for no limit.
        progress: called with the number of merges done.

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
        if rank % 512 == 0:
            progress("replaying", rank, len(merges), "merges")
    progress("replaying", len(merges), len(merges), "merges")


class _State:
    """Words on the way, and the counts of their pairs."""

    def __init__(self, words: Mapping[Word, int], *, sizes: Mapping[int, int], longest: int | None) -> None:
        self._words = [list(word) for word in words if len(word) > 1]
        self._times = [count for word, count in words.items() if len(word) > 1]
        self._sizes = dict(sizes)
        self._longest = longest
        self.passed_over: set[Pair] = set()
        self.counts: dict[Pair, int] = {}
        self._places: dict[Pair, set[int]] = {}
        for number, word in enumerate(self._words):
            times = self._times[number]
            for pair in pairwise(word):
                self.counts[pair] = self.counts.get(pair, 0) + times
                self._places.setdefault(pair, set()).add(number)
        self._heap = [(-count, pair) for pair, count in self.counts.items() if self._may_merge(pair)]
        heapq.heapify(self._heap)

    def best(self) -> tuple[Pair | None, int]:
        """The pair with the highest count, of several the smallest; its count."""
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
        """Merge a pair wherever it stands, from left to right."""
        pair = (left, right)
        self.passed_over.discard(pair)
        self._sizes[made] = self._sizes.get(left, 1) + self._sizes.get(right, 1)
        changes: dict[Pair, int] = {}
        for number in self._places.pop(pair, ()):
            self._merge_in(number, left, right, made, changes)
        for changed, change in changes.items():
            if change:
                self._change(changed, change)

    def _merge_in(self, number: int, left: int, right: int, made: int, changes: dict[Pair, int]) -> None:
        """Merge a pair in one word, and note by how much counts change; the pair may not be there any more."""
        word, times, places = self._words[number], self._times[number], self._places
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
