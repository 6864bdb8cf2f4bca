"""BPE merge by merge, and why each boundary that is left was not merged away.

The merge of the lowest rank is made first, and of equal ranks the leftmost: that is the textbook's rule, and the
one of every library. Here it runs on a heap, so that a pre-token of n symbols costs O(n log n).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from tokbench.explain.causes import EarlierMerge, NoMerge
from tokbench.explain.symbols import MergeRule
from tokbench.explain.traces import MergeStep, MergeTrace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tokbench.explain.causes import Cause
    from tokbench.explain.symbols import Symbol

Key = TypeVar("Key")

_MOST_SYMBOLS = 64
"""Pre-tokens up to here are merged anew without a merge, to see which one keeps a boundary."""
_MOST_MERGES = 4
"""So many merges are named for one boundary at most."""


class Found(NamedTuple, Generic[Key]):
    """What two neighbours become."""

    rank: float
    made: Key


class Merges(Protocol[Key]):
    """The merges of a vocabulary."""

    def find(self, left: Key, right: Key) -> Found[Key] | None:
        """What two neighbours become, and at which rank; None where no merge joins them."""

    def without(self, left: Key, right: Key) -> Merges[Key]:
        """The same vocabulary without the merge of a pair."""

    def adding(self, left: Key, right: Key) -> Merges[Key]:
        """The same vocabulary with a merge of a pair as the last of all."""


@dataclass(frozen=True, slots=True)
class ListedMerges:
    """Merges by a list: each joins one pair.

    Attributes:
        merges: (left, right) → rank and what is made.

    >>> ListedMerges({(97, 98): (0, 256)}).find(97, 98)
    Found(rank=0, made=256)
    """

    merges: Mapping[tuple[int, int], tuple[int, int]]
    removed: frozenset[tuple[int, int]] = frozenset()
    added: Mapping[tuple[int, int], tuple[int, int]] | None = None

    def find(self, left: int, right: int) -> Found[int] | None:
        """What two neighbours become; None where no merge joins them."""
        pair = left, right
        found = self.merges.get(pair)
        if found is None and self.added is not None:
            found = self.added.get(pair)
        return None if found is None or pair in self.removed else Found(*found)

    def without(self, left: int, right: int) -> ListedMerges:
        """The same without the merge of a pair."""
        return ListedMerges(self.merges, self.removed | {(left, right)}, self.added)

    def adding(self, left: int, right: int) -> ListedMerges:
        """The same with a merge of a pair as the last of all; what it makes has a negative id."""
        added = dict(self.added or {})
        added[left, right] = len(self.merges) + len(added), -1 - len(added)
        return ListedMerges(self.merges, self.removed, added)


@dataclass(frozen=True, slots=True)
class RankedTokens(Generic[Key]):
    """Merges by the ranks of tokens: two neighbours merge where they are a token together.

    Attributes:
        rank: what two neighbours are together → its rank; None where that is not a token.

    >>> RankedTokens({b"ab": 256}.get).find(b"a", b"b")
    Found(rank=256, made=b'ab')
    """

    rank: Callable[[Key], float | None]
    removed: frozenset[Key] = frozenset()
    added: tuple[Key, ...] = ()

    def find(self, left: Key, right: Key) -> Found[Key] | None:
        """What two neighbours become; None where they are not tokens."""
        made: Key = left + right  # type: ignore[operator]  # bytes or texts
        if made in self.removed:
            return None
        rank = self.rank(made)
        if rank is None and made in self.added:
            rank = _AFTER_ALL + self.added.index(made)
        return None if rank is None else Found(rank, made)

    def without(self, left: Key, right: Key) -> RankedTokens[Key]:
        """The same without the token that a pair makes."""
        return RankedTokens(self.rank, self.removed | {left + right}, self.added)  # type: ignore[operator]

    def adding(self, left: Key, right: Key) -> RankedTokens[Key]:
        """The same with the token that a pair makes, after all others."""
        made: Key = left + right  # type: ignore[operator]
        return RankedTokens(self.rank, self.removed, (*self.added, made))


_AFTER_ALL = 1e12


class Lost(NamedTuple, Generic[Key]):
    """A merge that did not come to its turn: the pair, its rank, and the step that took a part of it."""

    left: Key
    right: Key
    found: Found[Key]
    by: int


class Merged(NamedTuple, Generic[Key]):
    """One merge: the pair, what it became, and its place among the symbols."""

    left: Key
    right: Key
    found: Found[Key]
    start: int
    middle: int
    stop: int


@dataclass(frozen=True, slots=True)
class Merging(Generic[Key]):
    """How symbols were merged.

    Attributes:
        steps: the merges in their order.
        tokens: what is left.
        edges: where each of these begins, and where the last one ends.
        lost: boundary → the merges across it that did not come to their turn, in the order in which they were lost.
    """

    steps: list[Merged[Key]]
    tokens: list[Key]
    edges: list[int]
    lost: dict[int, list[Lost[Key]]]


def merge(
    symbols: Sequence[Key], merges: Merges[Key], *, frozen: frozenset[int] = frozenset()
) -> Merging[Key]:
    """Merge symbols, the lowest rank first, of equal ones the leftmost.

    Args:
        symbols: what the pre-token begins as.
        merges: the vocabulary's.
        frozen: positions of symbols that nothing merges with.

    >>> ranks = RankedTokens({b"aa": 256, b"ab": 257, b"aaab": 258}.get)
    >>> merge([b"a", b"a", b"a", b"b", b"d"], ranks).tokens
    [b'aaab', b'd']
    """
    size = len(symbols)
    keys = list(symbols)
    ends = list(range(1, size + 1))
    before = list(range(-1, size))
    alive = [True] * size
    waiting: dict[int, tuple[Key, Key, Found[Key]]] = {}  # by boundary
    agenda: list[tuple[float, int, int, Found[Key]]] = []
    merging: Merging[Key] = Merging([], [], [], {})

    def consider(left: int, right: int) -> None:
        if left < 0 or right >= size or left in frozen or right in frozen:
            return
        found = merges.find(keys[left], keys[right])
        if found is not None:
            waiting[right] = keys[left], keys[right], found
            heapq.heappush(agenda, (found.rank, left, len(agenda), found))

    def lose(boundary: int) -> None:
        if (pair := waiting.pop(boundary, None)) is not None:
            merging.lost.setdefault(boundary, []).append(Lost(*pair, by=len(merging.steps)))

    for left in range(size - 1):
        consider(left, left + 1)
    while agenda:
        rank, left, _, found = heapq.heappop(agenda)
        right = ends[left]
        if not alive[left] or right >= size or left in frozen or right in frozen:
            continue
        now = merges.find(keys[left], keys[right])
        if now is None or now.made != found.made:
            continue
        stop = ends[right]
        waiting.pop(right, None)
        lose(left)
        lose(stop)
        step = Merged(keys[left], keys[right], Found(rank, found.made), left, right, stop)
        merging.steps.append(step)
        keys[left], ends[left], alive[right] = found.made, stop, False
        if stop < size:
            before[stop] = left
        consider(before[left], left)
        consider(left, stop)
    place = 0
    while place < size:
        merging.tokens.append(keys[place])
        merging.edges.append(place)
        place = ends[place]
    merging.edges.append(size)
    return merging


def trace_merges(
    symbols: Sequence[Key],
    merges: Merges[Key],
    *,
    show: Callable[[Key], Symbol],
    frozen: frozenset[int] = frozenset(),
    by_score: bool = False,
) -> MergeTrace:
    """How symbols were merged, and why each boundary that is left is there.

    Args:
        symbols: what the pre-token begins as.
        merges: the vocabulary's.
        show: a symbol's id and bytes.
        frozen: positions of symbols that nothing merges with.
        by_score: whether ranks are negative scores.
    """
    merging = merge(symbols, merges, frozen=frozen)

    def rule(left: Key, right: Key, found: Found[Key]) -> MergeRule:
        return MergeRule(found.rank, show(left), show(right), show(found.made), by_score)

    def cause(edge: int, left: Key, right: Key) -> Cause:
        if len(symbols) <= _MOST_SYMBOLS and (
            named := why_kept(symbols, merges, edge, merging=merging, frozen=frozen)
        ):
            lost, by = named
            return EarlierMerge(
                rule(lost.left, lost.right, lost.found),
                tuple(rule(step.left, step.right, step.found) for step in by),
            )
        return NoMerge(show(left), show(right))

    inner = zip(merging.edges[1:-1], pairwise(merging.tokens), strict=True)
    return MergeTrace(
        symbols=tuple(map(show, symbols)),
        steps=tuple(
            MergeStep(rule(step.left, step.right, step.found), step.start, step.middle, step.stop)
            for step in merging.steps
        ),
        tokens=tuple(map(show, merging.tokens)),
        edges=tuple(merging.edges),
        causes=tuple(cause(edge, left, right) for edge, (left, right) in inner),
        by_score=by_score,
    )


def why_kept(
    symbols: Sequence[Key],
    merges: Merges[Key],
    edge: int,
    *,
    merging: Merging[Key] | None = None,
    frozen: frozenset[int] = frozenset(),
) -> tuple[Lost[Key], list[Merged[Key]]] | None:
    """The merges that keep a boundary: without them, another merge would cross it.

    Args:
        symbols: what the pre-token begins as.
        merges: the vocabulary's.
        edge: the boundary, by the symbol after it.
        merging: what `merge` gives for them.
        frozen: as in `merge`.

    Returns:
        The merge that was lost and those that took its parts, shown by merging anew without them; None where
        no merge was lost, or more than a few would have to go.
    """
    first = merging or merge(symbols, merges, frozen=frozen)
    for lost in reversed(first.lost.get(edge, ())):
        blocker = first.steps[lost.by]
        if edge not in merge(symbols, merges.without(blocker.left, blocker.right), frozen=frozen).edges:
            return lost, [blocker]
    left_out: list[Merged[Key]] = []
    now, reduced = first, merges
    while len(left_out) < _MOST_MERGES and (losses := now.lost.get(edge)):
        blocker = now.steps[losses[-1].by]
        left_out.append(blocker)
        reduced = reduced.without(blocker.left, blocker.right)
        now = merge(symbols, reduced, frozen=frozen)
        if edge not in now.edges:
            return first.lost[edge][-1], left_out
    return None
