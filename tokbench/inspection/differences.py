"""How two vocabularies differ: tokens by their bytes and ids, merges by their order."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Merge = tuple[bytes, bytes]
"""What a merge joins."""


@dataclass(frozen=True, slots=True)
class TokenDifferences:
    """Where the tokens of two vocabularies differ.

    Attributes:
        moved: id in the first → ids in the second of tokens that both have, where the second has them not there.
        only_first: ids of the first whose tokens the second does not have.
        only_second: ids of the second whose tokens the first does not have.
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
    """Where two lists of merges differ.

    Attributes:
        rank: the first rank at which they do.
        only_first: ranks of the first list's merges that the second does not have.
        only_second: likewise of the second list's.
        moved: the fewest of the others that have to change their places for the order to be the same.
    """

    rank: int
    only_first: tuple[int, ...]
    only_second: tuple[int, ...]
    moved: int


def compare_merges(first: Sequence[Merge], second: Sequence[Merge]) -> MergeDifferences | None:
    """Compare lists of merges from the first rank to the last; None where they are equal.

    >>> compare_merges([(b"a", b"b"), (b"c", b"d")], [(b"c", b"d"), (b"a", b"b"), (b"e", b"f")])
    MergeDifferences(rank=0, only_first=(), only_second=(2,), moved=1)
    """
    if first == second:
        return None
    in_first, in_second = set(first), set(second)
    return MergeDifferences(
        rank=next(rank for rank, (one, other) in enumerate(zip_longest(first, second)) if one != other),
        only_first=tuple(rank for rank, merge in enumerate(first) if merge not in in_second),
        only_second=tuple(rank for rank, merge in enumerate(second) if merge not in in_first),
        moved=_moved(first, second),
    )


def _moved(first: Sequence[Merge], second: Sequence[Merge]) -> int:
    """The fewest merges of both that have to change their places for the order to be the same."""
    places = {merge: place for place, merge in enumerate(second)}
    kept: list[int] = []  # of rising places so far, the smallest last one of each length
    common = [places[merge] for merge in first if merge in places]
    for place in common:
        at = bisect_left(kept, place)
        kept[at : at + 1] = [place]
    return len(common) - len(kept)
