"""Records of merges: their parts, their uses in later merges, and the pairs that they displaced in training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokbench.explain.causes import Symbol

_USES_KEPT = 8


@dataclass(frozen=True, slots=True)
class DisplacedPair:
    """A pair that lost occurrences to a merge.

    Attributes:
        left: its left token.
        right: its right token.
        lost: number of lost occurrences.
        rank: rank of the pair's own merge, later or earlier; None if it was never merged.
    """

    left: Symbol
    right: Symbol
    lost: int
    rank: int | None


@dataclass(frozen=True, slots=True)
class Use:
    """A merge that uses the token as a part.

    Attributes:
        rank: its rank.
        merged: its result.
    """

    rank: int
    merged: Symbol


@dataclass(frozen=True, slots=True)
class MergeRecord:
    """A merge with its context in the vocabulary.

    Attributes:
        rank: its rank.
        merges: number of merges of the vocabulary.
        left: the left token.
        right: the right token.
        merged: the merged token.
        left_rank: rank of the merge that produces the left token; None if no merge does.
        right_rank: rank of the merge that produces the right token; None if no merge does.
        count: occurrences of the pair when it was merged; None if unknown.
        displaced: the pairs that lost most occurrences to it; None if the training was not traced.
        used_by: the first merges that use the merged token.
        num_uses: number of such merges.
    """

    rank: int
    merges: int
    left: Symbol
    right: Symbol
    merged: Symbol
    left_rank: int | None
    right_rank: int | None
    count: int | None
    displaced: tuple[DisplacedPair, ...] | None
    used_by: tuple[Use, ...]
    num_uses: int


def record_of(
    merges: Sequence[tuple[int, int, int]],
    rank: int,
    *,
    symbol: Callable[[int], Symbol],
    count: int | None = None,
    displaced: Sequence[tuple[int, int, int]] | None = None,
) -> MergeRecord:
    """Build the record of a merge.

    Args:
        merges: (left id, right id, merged id) of all merges in rank order.
        rank: rank of the merge.
        symbol: returns the token with an id.
        count: occurrences of the pair when it was merged; None if unknown.
        displaced: (left id, right id, lost occurrences) of the displaced pairs; None if training was not traced.
    """
    left, right, merged = merges[rank]
    makers: dict[int, int] = {}
    ranks: dict[tuple[int, int], int] = {}
    uses: list[Use] = []
    wanted = {(pair[0], pair[1]) for pair in displaced or ()}
    for number, (its_left, its_right, its_merged) in enumerate(merges):
        if its_merged in (left, right):
            makers.setdefault(its_merged, number)
        if merged in (its_left, its_right):
            uses.append(Use(number, symbol(its_merged)))
        if (its_left, its_right) in wanted:
            ranks[its_left, its_right] = number
    pairs = (DisplacedPair(symbol(a), symbol(b), lost, ranks.get((a, b))) for a, b, lost in displaced or ())
    return MergeRecord(
        rank=rank,
        merges=len(merges),
        left=symbol(left),
        right=symbol(right),
        merged=symbol(merged),
        left_rank=makers.get(left),
        right_rank=makers.get(right),
        count=count,
        displaced=None if displaced is None else tuple(pairs),
        used_by=tuple(uses[:_USES_KEPT]),
        num_uses=len(uses),
    )
