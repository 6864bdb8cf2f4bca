"""Derivations, in which a tokenizer reports the steps from a text to ids, with traces of algorithms; explanations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from tokbench.core.tokens import Token
    from tokbench.explain.causes import Cause, MergeRule, Symbol
    from tokbench.explain.pretokens import Change, PreToken


@dataclass(frozen=True, slots=True)
class MergeStep:
    """One application of a merge; indices refer to the initial symbols of the pre-token.

    Attributes:
        rule: the merge.
        start: index of the first symbol of the left part.
        middle: index of the first symbol of the right part: the boundary that is removed.
        stop: index after the last symbol of the right part.
    """

    rule: MergeRule
    start: int
    middle: int
    stop: int


@dataclass(frozen=True, slots=True)
class MergeTrace:
    """The merges of BPE on a pre-token.

    Attributes:
        symbols: the initial symbols.
        steps: the merges in order.
        tokens: the resulting tokens.
        edges: index of the first symbol of each token, and the index after the last symbol.
        causes: cause of the boundary before each token but the first.
        whole: whether the pre-token is in the vocabulary and becomes that token without merging.
        by_score: whether merges are ordered by scores, as in SentencePiece.
        dropped: the characters that became no symbol: the vocabulary lacks them, and there is no unknown token.
    """

    symbols: tuple[Symbol, ...]
    steps: tuple[MergeStep, ...]
    tokens: tuple[Symbol, ...]
    edges: tuple[int, ...]
    causes: Sequence[Cause]
    whole: bool = False
    by_score: bool = False
    dropped: str = ""

    def states(self) -> Iterator[tuple[MergeStep, tuple[Symbol, ...]]]:
        """Yield each step with the symbols after it; takes quadratic time in the length of the pre-token."""
        state = {place: (place + 1, symbol) for place, symbol in enumerate(self.symbols)}
        for step in self.steps:
            del state[step.middle]
            state[step.start] = step.stop, step.rule.merged
            yield step, tuple(state[place][1] for place in sorted(state))


@dataclass(frozen=True, slots=True)
class LongestMatch:
    """One step of WordPiece.

    Attributes:
        rest: the rest of the word.
        taken: the longest piece that matches its beginning; None if none does.
        shorter: the other pieces that match its beginning, the longest first.
        missing: spelling of the shortest piece that would be a longer match; None at the end of the word.
    """

    rest: str
    taken: Symbol | None
    shorter: tuple[Symbol, ...]
    missing: str | None


@dataclass(frozen=True, slots=True)
class LongestMatchTrace:
    """The matches of WordPiece in a word.

    Attributes:
        steps: the matches from left to right; the last one has no piece if the word is unknown.
        tokens: the resulting tokens.
        causes: cause of the boundary before each token but the first.
        too_long: maximum number of characters of a word, if the word exceeds it; otherwise None.
    """

    steps: tuple[LongestMatch, ...]
    tokens: tuple[Symbol, ...]
    causes: tuple[Cause, ...]
    too_long: int | None = None


class Edge(NamedTuple):
    """An edge of a lattice: a piece at a position of the text.

    Attributes:
        start: index of its first character.
        stop: index after its last character.
        piece: the piece; its id is None for a character that is not a piece.
        score: its log-probability.
    """

    start: int
    stop: int
    piece: Symbol
    score: float


@dataclass(frozen=True, slots=True)
class Path:
    """One segmentation of a lattice.

    Attributes:
        edges: its edges from left to right.
        score: sum of their scores.
        probability: its probability among all segmentations.
    """

    edges: tuple[Edge, ...]
    score: float
    probability: float


@dataclass(frozen=True, slots=True)
class LatticeTrace:
    """Unigram's choice among the segmentations of a pre-token.

    Attributes:
        text: the pre-token.
        edges: every piece that occurs in it.
        paths: the most probable segmentations, the best first.
        boundaries: probability of a boundary before each character but the first.
        tokens: the tokens of the best segmentation: characters that are not pieces become bytes or unknown tokens.
        causes: cause of the boundary before each token but the first.
    """

    text: str
    edges: tuple[Edge, ...]
    paths: tuple[Path, ...]
    boundaries: tuple[float, ...]
    tokens: tuple[Symbol, ...]
    causes: tuple[Cause, ...]

    @property
    def margin(self) -> float | None:
        """Difference between the best score and the second best; None if there is only one segmentation."""
        return self.paths[0].score - self.paths[1].score if len(self.paths) > 1 else None


@dataclass(frozen=True, slots=True)
class LookupTrace:
    """A pre-token that is looked up in the vocabulary, or split by a fixed rule.

    Attributes:
        rule: the rule of the algorithm, in words.
        tokens: the resulting tokens.
        causes: cause of the boundary before each token but the first.
    """

    rule: str
    tokens: tuple[Symbol, ...]
    causes: tuple[Cause, ...] = ()


Trace = MergeTrace | LongestMatchTrace | LatticeTrace | LookupTrace

TRACES_KEPT = 1 << 12
"""Maximum number of traces that are kept for pre-tokens that occur again in a text."""


@dataclass(frozen=True, slots=True)
class Step:
    """A pre-token with the trace of the model's steps."""

    pretoken: PreToken
    trace: Trace

    @property
    def key(self) -> Hashable:
        """Equal for steps with equal traces: an algorithm has one way from the text of a pre-token to its ids."""
        return self.pretoken.text, self.pretoken.added, tuple(symbol.id for symbol in self.trace.tokens)


@dataclass(frozen=True, slots=True)
class Derivation:
    """A tokenizer's report of the steps from a text without special tokens to ids.

    Attributes:
        algorithm: name of the algorithm, such as "byte-level BPE".
        normalized: the normalized text, which is split.
        changes: the changes by normalization, in text order.
        splitter: what splits the text into pre-tokens, in words.
        steps: the pre-tokens in order, with their traces.
    """

    algorithm: str
    normalized: str
    changes: Sequence[Change]
    splitter: str
    steps: Sequence[Step]

    @property
    def ids(self) -> list[int | None]:
        """The ids; None for a symbol that is not in the vocabulary."""
        return [symbol.id for step in self.steps for symbol in step.trace.tokens]


@dataclass(frozen=True, slots=True)
class Boundary:
    """A boundary between two tokens.

    Attributes:
        token: index of the token after it.
        offset: UTF-8 byte offset in the original text.
        cause: its cause.
    """

    token: int
    offset: int
    cause: Cause


@dataclass(frozen=True, slots=True)
class ExplainedStep(Step):
    """A pre-token with its trace and the indices of its tokens.

    Attributes:
        pretoken: the pre-token.
        trace: the trace of the model's steps.
        first: index of its first token.
    """

    first: int

    @property
    def positions(self) -> range:
        """Indices of its tokens."""
        return range(self.first, self.first + len(self.trace.tokens))


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a text's tokens, which are those of `segment`, id for id.

    Attributes:
        tokenizer: name of the tokenizer.
        algorithm: name of the algorithm.
        text: the text.
        tokens: its tokens.
        normalized: the normalized text, which is split, including special tokens.
        changes: the changes by normalization.
        splitter: what splits the text into pre-tokens, in words.
        steps: the pre-tokens in order, with their traces.
        boundaries: all boundaries between tokens.
    """

    tokenizer: str
    algorithm: str
    text: str
    tokens: Sequence[Token]
    normalized: str
    changes: Sequence[Change]
    splitter: str
    steps: Sequence[ExplainedStep]
    boundaries: Sequence[Boundary] = field(default=())

    def step_of(self, token: int) -> ExplainedStep:
        """Return the step that produced the token at an index. Raises `IndexError`."""
        for step in self.steps:
            if token in step.positions:
                return step
        raise IndexError(token)
