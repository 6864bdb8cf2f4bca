"""What each algorithm did with a pre-token, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.explain.causes import Cause
    from tokbench.explain.symbols import MergeRule, Symbol


@dataclass(frozen=True, slots=True)
class MergeStep:
    """One merge in one place.

    Attributes:
        rule: the merge.
        start: the first of the symbols that the pre-token began with that is in it.
        middle: the first of those on the right: the boundary that goes.
        stop: the first after it.
    """

    rule: MergeRule
    start: int
    middle: int
    stop: int


@dataclass(frozen=True, slots=True)
class MergeTrace:
    """How BPE merged a pre-token.

    Attributes:
        symbols: what it began with.
        steps: the merges in their order.
        tokens: what was left.
        edges: where each token begins among the symbols, and where the last one ends.
        causes: of the boundary before each token but the first.
        whole: whether the pre-token is a token itself, which is taken without any merge.
        by_score: whether the order is that of scores, as in SentencePiece.
    """

    symbols: tuple[Symbol, ...]
    steps: tuple[MergeStep, ...]
    tokens: tuple[Symbol, ...]
    edges: tuple[int, ...]
    causes: tuple[Cause, ...]
    whole: bool = False
    by_score: bool = False

    def states(self) -> Iterator[tuple[MergeStep, tuple[Symbol, ...]]]:
        """Each step with the symbols that there are after it; quadratic in the length of a pre-token."""
        state = {place: (place + 1, symbol) for place, symbol in enumerate(self.symbols)}
        for step in self.steps:
            del state[step.middle]
            state[step.start] = step.stop, step.rule.made
            yield step, tuple(state[place][1] for place in sorted(state))


@dataclass(frozen=True, slots=True)
class LongestMatch:
    """One step of WordPiece.

    Attributes:
        rest: what of the word was left.
        taken: the longest piece that it begins with; None where there is none.
        shorter: the other pieces that it begins with, the longest first.
        missing: the spelling of the shortest piece that would have reached further; None at the word's end.
    """

    rest: str
    taken: Symbol | None
    shorter: tuple[Symbol, ...]
    missing: str | None


@dataclass(frozen=True, slots=True)
class LongestMatchTrace:
    """How WordPiece cut a word.

    Attributes:
        steps: the matches from left to right; the last one has none where the word is unknown.
        tokens: what the word became.
        causes: of the boundary before each token but the first.
        too_long: how many characters a word may have, where this one has more.
    """

    steps: tuple[LongestMatch, ...]
    tokens: tuple[Symbol, ...]
    causes: tuple[Cause, ...]
    too_long: int | None = None


class Edge(NamedTuple):
    """A piece of a lattice.

    Attributes:
        start: the first character.
        stop: the one after the last.
        piece: the piece; its id is None for a character that is none.
        score: its log probability.
    """

    start: int
    stop: int
    piece: Symbol
    score: float


@dataclass(frozen=True, slots=True)
class Path:
    """One segmentation of a lattice.

    Attributes:
        edges: from left to right.
        score: their sum.
        probability: of this one among all.
    """

    edges: tuple[Edge, ...]
    score: float
    probability: float


@dataclass(frozen=True, slots=True)
class LatticeTrace:
    """How Unigram chose among the segmentations of a pre-token.

    Attributes:
        text: the characters.
        edges: every piece that stands in it.
        paths: the most probable segmentations, the best first.
        boundaries: the probability of a boundary before each character but the first.
        tokens: what the best one became: characters that are not pieces are bytes, or unknown.
        causes: of the boundary before each token but the first.
    """

    text: str
    edges: tuple[Edge, ...]
    paths: tuple[Path, ...]
    boundaries: tuple[float, ...]
    tokens: tuple[Symbol, ...]
    causes: tuple[Cause, ...]

    @property
    def margin(self) -> float | None:
        """How much better the best segmentation is than the second; None where there is one only."""
        return self.paths[0].score - self.paths[1].score if len(self.paths) > 1 else None


@dataclass(frozen=True, slots=True)
class LookupTrace:
    """A pre-token that is looked up, or cut by a rule that nothing was learned for.

    Attributes:
        rule: what the algorithm does, in words.
        tokens: what came of it.
        causes: of the boundary before each token but the first.
    """

    rule: str
    tokens: tuple[Symbol, ...]
    causes: tuple[Cause, ...] = ()


Trace = MergeTrace | LongestMatchTrace | LatticeTrace | LookupTrace
