"""Pruning a byte-level BPE, as the textbook would say it: slow, and what every faster form is held to.

A *leaf* is a token that a merge makes and no surviving merge takes. Leaves go one after another, the least frequent
first and of equals the one with the greatest id; the frequency of one that goes is added to its two parts, which may
be leaves then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

Merge = tuple[int, int, int]


class Pruned(NamedTuple):
    """What is left: merges in their order, frequencies of what is left, and what went, in its order."""

    merges: list[Merge]
    frequencies: dict[int, int]
    removed: list[int]


def prune(
    merges: Sequence[Merge],
    frequencies: Mapping[int, int],
    *,
    kept: Collection[int] = (),
    selected: Collection[int] = (),
    most: int | None = None,
    min_count: int | None = None,
) -> Pruned:
    """Remove leaves: those selected, then the least frequent until no more than `most` are left and none is rarer.

    Args:
        merges: (left id, right id, made id) in the order of their ranks; each token is made by one.
        frequencies: id → token occurrences.
        kept: ids that stay, special tokens for one.
        selected: ids that go as soon as they are leaves, whatever their frequency.
        most: how many merges stay at most; None for any number.
        min_count: leaves with fewer occurrences go; None keeps them.

    "ab" (3) is needed by "abc" (4); of the leaves "abc" is the rarest, and then "ab" has its three occurrences, too.

    >>> done = prune([(0, 1, 3), (3, 2, 4), (1, 2, 5)], {2: 1, 3: 2, 4: 3, 5: 4}, most=1)
    >>> done.removed, done.merges, done.frequencies
    ([4, 5], [(0, 1, 3)], {2: 8, 3: 5, 1: 4})
    """
    left, counts, removed = list(merges), dict(frequencies), []

    def leaves() -> Iterator[tuple[int, int, Merge]]:
        taken = {part for one, other, _ in left for part in (one, other)}
        for merge in left:
            if merge[2] not in taken and merge[2] not in kept:
                yield counts.get(merge[2], 0), -merge[2], merge

    def remove(merge: Merge) -> None:
        left.remove(merge)
        removed.append(merge[2])
        frequency = counts.pop(merge[2], 0)
        for part in merge[:2]:
            counts[part] = counts.get(part, 0) + frequency

    while chosen := [leaf for leaf in leaves() if leaf[2][2] in selected]:
        remove(min(chosen)[2])
    while found := list(leaves()):
        frequency, _, merge = min(found)
        if (most is None or len(left) <= most) and (min_count is None or frequency >= min_count):
            break
        remove(merge)
    return Pruned(left, counts, removed)


def segment(symbols: Sequence[int], merges: Sequence[Merge]) -> list[int]:
    """What merging makes of a pre-token: the merge of the lowest rank first, and of equal ones the leftmost.

    >>> segment([0, 1, 2], [(0, 1, 3), (3, 2, 4), (1, 2, 5)]), segment([0, 1, 2], [(1, 2, 5)])
    ([4], [0, 5])
    """
    ranks = {(left, right): (rank, made) for rank, (left, right, made) in enumerate(merges)}
    parts = list(symbols)
    while found := [
        (*ranks[pair], place)
        for place in range(len(parts) - 1)
        if (pair := (parts[place], parts[place + 1])) in ranks
    ]:
        _, made, place = min(found, key=lambda each: (each[0], each[2]))
        parts[place : place + 2] = [made]
    return parts
