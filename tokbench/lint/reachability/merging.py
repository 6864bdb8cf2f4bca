"""BPE on a single token: the result of merging its symbols, and the merge that prevents the token.

A token can occur in a text only if merging its own symbols alone produces it: as long as no merge crosses its two ends,
the merges between them do not depend on the context.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

S = TypeVar("S", str, bytes)
"""Spelling of symbols: bytes, or pieces as in the file."""


@dataclass(frozen=True, slots=True)
class MergeRules(Generic[S]):
    """The merge rules of a BPE.

    Attributes:
        symbols: token → its initial symbols; None if one of them has no token.
        merge: adjacent pair → the rank and the result of their merge; None if they do not merge.
        ways: token → (rank, left, right) of the merges that produce it.
    """

    symbols: Callable[[S], Sequence[S] | None]
    merge: Callable[[S, S], tuple[float, S] | None]
    ways: Callable[[S], Sequence[tuple[float, S, S]]]


class MergeStep(NamedTuple, Generic[S]):
    """One merge while merging a token.

    Attributes:
        rank: its rank.
        left: the left part.
        right: the right part.
        start: index of the first initial symbol of the left part.
        middle: index of the first initial symbol of the right part.
        stop: index after the last initial symbol of the right part.
    """

    rank: float
    left: S
    right: S
    start: int
    middle: int
    stop: int


def merge_trail(rules: MergeRules[S], symbols: Sequence[S]) -> tuple[list[S], list[MergeStep[S]]]:
    """Merge symbols, the lowest rank first and ties from the left; return the result and each merge."""
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
    """The reason why merging a token's own symbols does not produce it.

    Attributes:
        token: the token, or the part of it, that is not produced.
        parts: the result of merging; empty if a symbol has no token.
        blocker: the merge that crosses the boundary of the wanted merge; None if no merge produces the token.
        wanted: the merge that would produce the token, and comes too late.
    """

    token: S
    parts: tuple[S, ...]
    blocker: MergeStep[S] | None = None
    wanted: tuple[float, S, S] | None = None


def merge_failure(rules: MergeRules[S], token: S) -> MergeFailure[S] | None:
    """Return the reason why merging does not produce a token; None if it does."""
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
    # No lower rank crossed the boundary, so one of the two parts itself was not produced.
    inner = (found for part in wanted[1:] if (found := merge_failure(rules, part)) is not None)
    return next(inner, MergeFailure(token, tuple(parts), blocker, wanted))


def rules_from_merges(
    merges: Mapping[tuple[S, S], tuple[float, S]], symbols: Callable[[S], Sequence[S] | None]
) -> MergeRules[S]:
    """Return the rules of a BPE with a list of merges.

    Args:
        merges: pair → rank and result.
        symbols: token → its initial symbols; None if one of them has no token.
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
    """Return the rules of a BPE in which adjacent parts merge if they form a token, the lowest rank first."""

    def merge(left: S, right: S) -> tuple[float, S] | None:
        made = left + right
        rank = ranks.get(made)
        return None if rank is None else (rank, made)

    def ways(token: S) -> list[tuple[float, S, S]]:
        cuts = ((token[:cut], token[cut:]) for cut in range(1, len(token)))
        return [(ranks[token], left, right) for left, right in cuts if left in ranks and right in ranks]

    return MergeRules(symbols=symbols, merge=merge, ways=ways)
