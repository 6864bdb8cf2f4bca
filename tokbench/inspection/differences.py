"""Compare two vocabularies: tokens by their bytes and ids, merges by their order."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Merge = tuple[bytes, bytes]
"""The two parts of a merge."""


@dataclass(frozen=True, slots=True)
class TokenDifferences:
    """The differences between the tokens of two vocabularies.

    Attributes:
        moved: id in the first → ids in the second, for tokens of both that have another id in the second.
        only_first: ids in the first of tokens that the second lacks.
        only_second: ids in the second of tokens that the first lacks.
    """

    moved: Mapping[int, tuple[int, ...]]
    only_first: tuple[int, ...]
    only_second: tuple[int, ...]


def compare_tokens(first: Mapping[int, bytes], second: Mapping[int, bytes]) -> TokenDifferences:
    """Compare vocabularies by the bytes of their tokens.

    >>> compare_tokens({0: b"a", 1: b"b", 2: b"c"}, {0: b"b", 1: b"a", 3: b"d"})
    TokenDifferences(moved={0: (1,), 1: (0,)}, only_first=(2,), only_second=(3,))
    """
    places: dict[bytes, list[int]] = {}
    for id, token in second.items():
        places.setdefault(token, []).append(id)
    known = set(first.values())
    return TokenDifferences(
        moved={
            id: tuple(sorted(places[token]))
            for id, token in first.items()
            if token in places and second.get(id) != token
        },
        only_first=tuple(id for id, token in first.items() if token not in places),
        only_second=tuple(id for id, token in second.items() if token not in known),
    )


@dataclass(frozen=True, slots=True)
class MergeDifferences:
    """The differences between two lists of merges.

    Attributes:
        rank: the first rank at which they differ.
        only_first: ranks in the first list of merges that the second lacks.
        only_second: ranks in the second list of merges that the first lacks.
        moved: the minimum number of common merges that have to move to give both lists the same order.
    """

    rank: int
    only_first: tuple[int, ...]
    only_second: tuple[int, ...]
    moved: int


def compare_merges(first: Sequence[Merge], second: Sequence[Merge]) -> MergeDifferences | None:
    """Compare two lists of merges; return None if they are equal.

    >>> compare_merges([(b"a", b"b"), (b"c", b"d")], [(b"c", b"d"), (b"a", b"b"), (b"e", b"f")])
    MergeDifferences(rank=0, only_first=(), only_second=(2,), moved=1)
    """
    if first == second:
        return None
    in_first, in_second = set(first), set(second)
    return MergeDifferences(
        rank=next(
            rank
            for rank, (merge, other_merge) in enumerate(zip_longest(first, second))
            if merge != other_merge
        ),
        only_first=tuple(rank for rank, merge in enumerate(first) if merge not in in_second),
        only_second=tuple(rank for rank, merge in enumerate(second) if merge not in in_first),
        moved=_moved(first, second),
    )


def _moved(first: Sequence[Merge], second: Sequence[Merge]) -> int:
    """Return the minimum number of common merges that have to move to give both lists the same order."""
    places = {merge: place for place, merge in enumerate(second)}
    kept: list[int] = []  # the smallest last element of an increasing subsequence, by its length
    common = [places[merge] for merge in first if merge in places]
    for place in common:
        at = bisect_left(kept, place)
        kept[at : at + 1] = [place]
    return len(common) - len(kept)
