"""Measure how ids change when lines are rewritten: case, typos, white space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.metrics.metric import ratio
from tokbench.metrics.robustness import edit_distance, rewritings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer

_LINES = 200


@dataclass(frozen=True, slots=True)
class Robustness:
    """The result for one kind of rewriting.

    Attributes:
        rewriting: what was done to it.
        lines: sampled lines that it changed.
        growth: their tokens over those before; None where no line changed.
        distance: edits between the ids before and after, over the tokens before.
    """

    rewriting: str
    lines: int
    growth: float | None
    distance: float | None


def robustness_of(
    tokenizer: Tokenizer, lines_of_groups: Mapping[str, Sequence[str]], *, seed: int = 0
) -> tuple[Robustness, ...]:
    """Rewrite some lines of each group and compare their ids.

    Args:
        tokenizer: any.
        lines_of_groups: group → some of its lines.
        seed: chooses the words that get a typo.
    """
    lines = list(_spread(lines_of_groups))
    before = [tokenizer.encode(line) for line in lines]
    found = []
    for name, rewrite in rewritings(seed=seed).items():
        changed = tokens = grown = edits = 0
        for line, ids in zip(lines, before, strict=True):
            other = rewrite(line)
            if other == line:
                continue
            again = tokenizer.encode(other)
            changed += 1
            tokens += len(ids)
            grown += len(again)
            edits += edit_distance(ids, again)
        found.append(Robustness(name, changed, ratio(grown, tokens), ratio(edits, tokens)))
    return tuple(found)


def _spread(lines: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The first lines of each group in turn, up to so many in all."""
    share = max(_LINES // max(len(lines), 1), 1)
    for kept in lines.values():
        yield from kept[:share]
