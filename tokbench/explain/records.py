"""One merge of a vocabulary: what it joins, what it is made of and used for, what it displaced when it was learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokbench.explain.symbols import Symbol

_USES_KEPT = 8


@dataclass(frozen=True, slots=True)
class DisplacedPair:
    """A pair that lost occurrences to a merge.

    Attributes:
        left: its left token.
        right: its right token.
        lost: how many occurrences.
        rank: the rank at which it was merged all the same, later or before; None where it never was.
    """

    left: Symbol
    right: Symbol
    lost: int
    rank: int | None


@dataclass(frozen=True, slots=True)
class Use:
    """A later merge that takes the token.

    Attributes:
        rank: its rank.
        made: what it makes.
    """

    rank: int
    made: Symbol


@dataclass(frozen=True, slots=True)
class MergeRecord:
    """A merge.

    Attributes:
        rank: its rank.
        merges: how many the vocabulary has.
        left: what stands on the left.
        right: what stands on the right.
        made: what they become.
        left_rank: the rank of the merge that makes the left one; None for what no merge makes.
        right_rank: likewise of the right one.
        count: how often the pair occurred when it was merged; None where that is not known.
        displaced: the pairs that lost most occurrences to it; None where the training was not traced.
        used_by: the first of the later merges that take what it makes.
        num_uses: how many such merges there are.
    """

    rank: int
    merges: int
    left: Symbol
    right: Symbol
    made: Symbol
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
    """A merge of a vocabulary.

    Args:
        merges: left, right and made id of all, in the order of their ranks.
        rank: which one.
        symbol: the token of an id.
        count: how often the pair occurred when it was merged.
        displaced: left id, right id and occurrences lost of the pairs that it displaced.
    """
    left, right, made = merges[rank]
    makers: dict[int, int] = {}
    ranks: dict[tuple[int, int], int] = {}
    uses: list[Use] = []
    wanted = {(pair[0], pair[1]) for pair in displaced or ()}
    for number, (its_left, its_right, its_made) in enumerate(merges):
        if its_made in (left, right):
            makers.setdefault(its_made, number)
        if made in (its_left, its_right):
            uses.append(Use(number, symbol(its_made)))
        if (its_left, its_right) in wanted:
            ranks[its_left, its_right] = number
    pairs = (DisplacedPair(symbol(a), symbol(b), lost, ranks.get((a, b))) for a, b, lost in displaced or ())
    return MergeRecord(
        rank=rank,
        merges=len(merges),
        left=symbol(left),
        right=symbol(right),
        made=symbol(made),
        left_rank=makers.get(left),
        right_rank=makers.get(right),
        count=count,
        displaced=None if displaced is None else tuple(pairs),
        used_by=tuple(uses[:_USES_KEPT]),
        num_uses=len(uses),
    )
