"""BPE merge by merge, and the reason why each remaining boundary was not merged.

The merge with the lowest rank is applied first, ties from the left, as in the textbook and in every library. A heap
makes this O(n log n) for a pre-token of n symbols.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import starmap
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from tokbench.explain.as_read import AsRead
from tokbench.explain.causes import EarlierMerge, MergeRule, NoMerge
from tokbench.explain.derivation import MergeStep, MergeTrace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tokbench.explain.causes import Cause, Symbol

Key = TypeVar("Key")

_MOST_SYMBOLS = 64
"""Maximum number of symbols of a pre-token that is merged again without a merge, to find the cause of a boundary."""
_MOST_MERGES = 4
"""Maximum number of merges that are named as the cause of one boundary."""


class Found(NamedTuple, Generic[Key]):
    """A possible merge of an adjacent pair: its rank and its result."""

    rank: float
    merged: Key


class Merges(Protocol[Key]):
    """The merges of a vocabulary."""

    def find(self, left: Key, right: Key) -> Found[Key] | None:
        """Return the merge of an adjacent pair; None if there is none."""

    def without(self, left: Key, right: Key) -> Merges[Key]:
        """Return the merges without the merge of a pair."""


@dataclass(frozen=True, slots=True)
class ListedMerges:
    """Merges given by a list of pairs.

    Attributes:
        merges: (left, right) → (rank, merged id).
        removed: pairs that do not merge.

    >>> ListedMerges({(97, 98): (0, 256)}).find(97, 98)
    Found(rank=0, merged=256)
    """

    merges: Mapping[tuple[int, int], tuple[int, int]]
    removed: frozenset[tuple[int, int]] = frozenset()

    def find(self, left: int, right: int) -> Found[int] | None:
        """Return the merge of an adjacent pair; None if there is none."""
        pair = left, right
        found = self.merges.get(pair)
        return None if found is None or pair in self.removed else Found(*found)

    def without(self, left: int, right: int) -> ListedMerges:
        """Return the merges without the merge of a pair."""
        return ListedMerges(self.merges, self.removed | {(left, right)})


@dataclass(frozen=True, slots=True)
class RankedTokens(Generic[Key]):
    """Merges given by the ranks of tokens: an adjacent pair merges if its concatenation is a token.

    Attributes:
        rank: returns the rank of a token; None if the argument is not a token.
        removed: tokens that no pair merges into.

    >>> RankedTokens({b"ab": 256}.get).find(b"a", b"b")
    Found(rank=256, merged=b'ab')
    """

    rank: Callable[[Key], float | None]
    removed: frozenset[Key] = frozenset()

    def find(self, left: Key, right: Key) -> Found[Key] | None:
        """Return the merge of an adjacent pair; None if there is none."""
        made: Key = left + right  # type: ignore[operator]  # bytes or texts
        if made in self.removed:
            return None
        rank = self.rank(made)
        return None if rank is None else Found(rank, made)

    def without(self, left: Key, right: Key) -> RankedTokens[Key]:
        """Return the merges without the token that a pair forms."""
        return RankedTokens(self.rank, self.removed | {left + right})  # type: ignore[operator]


class Lost(NamedTuple, Generic[Key]):
    """A merge that was prevented: the pair, its merge, and the index of the step that took a part of it."""

    left: Key
    right: Key
    found: Found[Key]
    by: int


class Merged(NamedTuple, Generic[Key]):
    """One applied merge: the pair, its merge, and its position among the initial symbols."""

    left: Key
    right: Key
    found: Found[Key]
    start: int
    middle: int
    stop: int


@dataclass(frozen=True, slots=True)
class Merging(Generic[Key]):
    """The result of merging symbols.

    Attributes:
        steps: the merges in order.
        tokens: the resulting tokens.
        edges: index of the first symbol of each token, and the index after the last symbol.
        lost: boundary → the prevented merges across it, in the order in which they were prevented.
    """

    steps: list[Merged[Key]]
    tokens: list[Key]
    edges: list[int]
    lost: dict[int, list[Lost[Key]]]


def merge(
    symbols: Sequence[Key], merges: Merges[Key], *, frozen: frozenset[int] = frozenset()
) -> Merging[Key]:
    """Merge symbols, the lowest rank first, ties from the left.

    Args:
        symbols: the initial symbols of the pre-token.
        merges: the merges of the vocabulary.
        frozen: indices of symbols that do not merge.

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
        if now is None or now.merged != found.merged:
            continue
        stop = ends[right]
        waiting.pop(right, None)
        lose(left)
        lose(stop)
        step = Merged(keys[left], keys[right], Found(rank, found.merged), left, right, stop)
        merging.steps.append(step)
        keys[left], ends[left], alive[right] = found.merged, stop, False
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
    """Merge symbols, and determine the cause of each remaining boundary when it is read.

    Args:
        symbols: the initial symbols of the pre-token.
        merges: the merges of the vocabulary.
        show: returns the id and the bytes of a symbol.
        frozen: indices of symbols that do not merge.
        by_score: whether ranks are negated scores.
    """
    merging = merge(symbols, merges, frozen=frozen)

    def rule(left: Key, right: Key, found: Found[Key]) -> MergeRule:
        return MergeRule(found.rank, show(left), show(right), show(found.merged), by_score)

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

    inner = zip(merging.edges[1:-1], merging.tokens[:-1], merging.tokens[1:], strict=True)
    return MergeTrace(
        symbols=tuple(map(show, symbols)),
        steps=tuple(
            MergeStep(rule(step.left, step.right, step.found), step.start, step.middle, step.stop)
            for step in merging.steps
        ),
        tokens=tuple(map(show, merging.tokens)),
        edges=tuple(merging.edges),
        causes=AsRead(max(len(merging.tokens) - 1, 0), starmap(cause, inner)),
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
    """Find the merges that preserve a boundary: without them, another merge would cross it.

    Args:
        symbols: the initial symbols of the pre-token.
        merges: the merges of the vocabulary.
        edge: the boundary, as the index of the symbol after it.
        merging: the result of `merge`, if already known.
        frozen: indices of symbols that do not merge.

    Returns:
        The prevented merge and the merges that took its parts, verified by merging again without them; None if no
        merge was prevented, or if more than a few merges would have to be removed.
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
