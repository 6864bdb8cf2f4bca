"""BPE on one token alone: what merging makes of its symbols, and which merge prevents the token.

A token can occur in a text only if its own symbols merged alone give it: while no merge crosses its two ends,
what happens between them does not depend on what stands outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

S = TypeVar("S", str, bytes)
"""How symbols are spelled: as bytes, or as the pieces of a file."""


@dataclass(frozen=True, slots=True)
class MergeRules(Generic[S]):
    """A BPE by its symbols.

    Attributes:
        symbols: a token → the symbols that it begins as; None where one of them has no token.
        merge: two neighbours → the rank at which they merge, and what they make; None where they do not.
        ways: a token → the pairs that make it, each with its rank.
    """

    symbols: Callable[[S], Sequence[S] | None]
    merge: Callable[[S, S], tuple[float, S] | None]
    ways: Callable[[S], Sequence[tuple[float, S, S]]]


class MergeStep(NamedTuple, Generic[S]):
    """One merge on the way.

    Attributes:
        rank: its rank.
        left: the left neighbour.
        right: the right one.
        start: symbols before them, of those that the token began as.
        middle: likewise, where they meet.
        stop: likewise, where they end.
    """

    rank: float
    left: S
    right: S
    start: int
    middle: int
    stop: int


def merge_trail(rules: MergeRules[S], symbols: Sequence[S]) -> tuple[list[S], list[MergeStep[S]]]:
    """What symbols become, and each merge on the way: the lowest rank first, the leftmost of several."""
    parts, starts = list(symbols), list(range(len(symbols) + 1))
    steps: list[MergeStep[S]] = []
    while len(parts) > 1:
        found = [
            (each[0], place, each[1])
            for place in range(len(parts) - 1)
            if (each := rules.merge(parts[place], parts[place + 1])) is not None
        ]
        if not found:
            break
        rank, place, made = min(found, key=lambda item: item[:2])
        span = starts[place], starts[place + 1], starts[place + 2]
        steps.append(MergeStep(rank, parts[place], parts[place + 1], *span))
        parts[place : place + 2] = [made]
        del starts[place + 1]
    return parts, steps


@dataclass(frozen=True, slots=True)
class MergeFailure(Generic[S]):
    """Why merging a token's own symbols does not give it.

    Attributes:
        token: the token, or the part of it, that is not made.
        parts: what merging gives instead; none where a symbol has no token.
        blocker: the merge that takes a part of it; None where no merge makes it at all.
        wanted: the merge that would make it, and comes too late.
    """

    token: S
    parts: tuple[S, ...]
    blocker: MergeStep[S] | None = None
    wanted: tuple[float, S, S] | None = None


def merge_failure(rules: MergeRules[S], token: S) -> MergeFailure[S] | None:
    """Why merging does not give a token; None where it does."""
    symbols = rules.symbols(token)
    if symbols is None:
        return MergeFailure(token, ())
    parts, steps = merge_trail(rules, symbols)
    if parts == [token]:
        return None
    ways = sorted(rules.ways(token))
    if not ways:
        return MergeFailure(token, tuple(parts))
    wanted = ways[0]
    middle = len(rules.symbols(wanted[1]) or ())
    blocker = next((step for step in steps if step.start < middle < step.stop), None)
    if blocker is not None and blocker.rank < wanted[0]:
        return MergeFailure(token, tuple(parts), blocker, wanted)
    # No lower rank took a part of it, so that one of its two parts was not there when its turn came.
    inner = (found for part in wanted[1:] if (found := merge_failure(rules, part)) is not None)
    return next(inner, MergeFailure(token, tuple(parts), blocker, wanted))


def rules_from_merges(
    merges: Mapping[tuple[S, S], tuple[float, S]], symbols: Callable[[S], Sequence[S] | None]
) -> MergeRules[S]:
    """A BPE that merges by a list.

    Args:
        merges: neighbours → rank and what they make.
        symbols: what a token begins as.
    """
    made: dict[S, list[tuple[float, S, S]]] = {}
    for (left, right), (rank, result) in merges.items():
        made.setdefault(result, []).append((rank, left, right))
    return MergeRules(
        symbols=symbols,
        merge=lambda left, right: merges.get((left, right)),
        ways=lambda token: made.get(token, ()),
    )


def rules_from_ranks(ranks: Mapping[S, float], symbols: Callable[[S], Sequence[S] | None]) -> MergeRules[S]:
    """A BPE in which two neighbours merge where both together are a token, the lowest rank first."""

    def merge(left: S, right: S) -> tuple[float, S] | None:
        made = left + right
        rank = ranks.get(made)
        return None if rank is None else (rank, made)

    def ways(token: S) -> list[tuple[float, S, S]]:
        cuts = ((token[:cut], token[cut:]) for cut in range(1, len(token)))
        return [(ranks[token], left, right) for left, right in cuts if left in ranks and right in ranks]

    return MergeRules(symbols=symbols, merge=merge, ways=ways)
