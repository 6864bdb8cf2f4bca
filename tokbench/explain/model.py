"""What an explanation is made of: normalisation, pre-tokens, a trace by the algorithm, causes of boundaries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.core.tokens import Span, Token

# --- before the model -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """Characters that normalisation changed.

    Attributes:
        span: where they stand in the original text, in UTF-8 bytes; empty for what was put in.
        before: the characters.
        after: what they became; empty for what was dropped.
    """

    span: Span
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Alternative:
    """The alternative of a split pattern that matched.

    Attributes:
        number: its position in the pattern, from 1.
        regex: its text.
        meaning: what it matches, in words; None where it is none of the usual ones.
    """

    number: int
    regex: str
    meaning: str | None = None


@dataclass(frozen=True, slots=True)
class PreToken:
    """A part of the text that the model sees by itself.

    Attributes:
        text: as the model sees it, normalised.
        span: where it stands in the original text, in UTF-8 bytes.
        alternative: what matched; None where no pattern made it, or it is not known which alternative did.
        added: whether an added token was found here, so that the model never saw it.
        continues: whether nothing splits the text before it: it is shown by itself, as no piece reaches across.
    """

    text: str
    span: Span
    alternative: Alternative | None = None
    added: bool = False
    continues: bool = False


class Symbol(NamedTuple):
    """What an algorithm works on: bytes, characters, tokens.

    Attributes:
        id: its id; None where the vocabulary does not have it.
        data: how it is shown: the bytes of a token, or the UTF-8 of a piece as its file spells it.
    """

    id: int | None
    data: bytes


# --- causes -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MergeRule:
    """A merge of a vocabulary.

    Attributes:
        rank: the lowest is merged first; a SentencePiece model has scores, and the rank is the negative score.
        left: what stands on the left.
        right: what stands on the right.
        made: what they become.
        by_score: whether the rank is a score.
    """

    rank: float
    left: Symbol
    right: Symbol
    made: Symbol
    by_score: bool = False


@dataclass(frozen=True, slots=True)
class NoMerge:
    """No merge joins the two tokens; with one, as the last of all, they would be joined.

    Attributes:
        left: the token before the boundary.
        right: the token behind it.
    """

    left: Symbol
    right: Symbol


@dataclass(frozen=True, slots=True)
class EarlierMerge:
    """A merge would have crossed the boundary, and others of lower rank took its parts before its turn.

    Attributes:
        lost: the merge that did not come to its turn.
        by: the merges that took its parts; without all of them there would be no boundary here.
    """

    lost: MergeRule
    by: tuple[MergeRule, ...]


@dataclass(frozen=True, slots=True)
class NoLongerPiece:
    """WordPiece took the longest piece that was there; a longer one is not in the vocabulary.

    Attributes:
        taken: the longest match.
        missing: the spelling of the shortest piece that would have reached further.
    """

    taken: Symbol
    missing: str


@dataclass(frozen=True, slots=True)
class LowerScore:
    """Every segmentation without the boundary has a lower score.

    Attributes:
        margin: how much the best of them lacks; 0 for a tie.
        piece: the piece of that one that crosses the boundary; None where no piece does.
        probability: of a boundary here, over all segmentations.
    """

    margin: float | None
    piece: Symbol | None
    probability: float


@dataclass(frozen=True, slots=True)
class NewPreToken:
    """A pre-token begins: nothing is merged across.

    Attributes:
        behind: the alternative of the pattern that made the pre-token behind the boundary, if it is known.
        splitter: what made the pre-tokens, in words.
    """

    behind: Alternative | None = None
    splitter: str = ""


@dataclass(frozen=True, slots=True)
class BesideAddedToken:
    """An added or special token stands beside the boundary: texts are cut at these before anything else."""

    token: str


@dataclass(frozen=True, slots=True)
class Fallback:
    """A character without a token of its own became its bytes.

    Attributes:
        character: the character.
    """

    character: str


@dataclass(frozen=True, slots=True)
class ByDefinition:
    """The algorithm cuts here whatever the text.

    Attributes:
        rule: what it does, in words.
    """

    rule: str


Cause = (
    NoMerge
    | EarlierMerge
    | NoLongerPiece
    | LowerScore
    | NewPreToken
    | BesideAddedToken
    | Fallback
    | ByDefinition
)


# --- traces -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MergeStep:
    """One merge in one place.

    Attributes:
        rule: the merge.
        start: the first of the symbols that the pre-token began with that is in it.
        middle: the first of those on the right: the boundary that goes.
        stop: the first behind it.
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
        stop: the one behind the last.
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
        tokens: what the best one became: characters that are no piece are bytes, or unknown.
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


# --- together ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """A pre-token and what the model made of it."""

    pretoken: PreToken
    trace: Trace


@dataclass(frozen=True, slots=True)
class Derivation:
    """How a text in which nothing is a special token became ids: what a tokenizer tells.

    Attributes:
        algorithm: its name, as "byte-level BPE".
        normalized: the text as it is split.
        changes: what normalisation changed, in the order of the text.
        splitter: what made the pre-tokens, in words.
        steps: the pre-tokens in order.
    """

    algorithm: str
    normalized: str
    changes: tuple[Change, ...]
    splitter: str
    steps: tuple[Step, ...]

    @property
    def ids(self) -> list[int | None]:
        """The ids; None for a symbol that the vocabulary does not have."""
        return [symbol.id for step in self.steps for symbol in step.trace.tokens]


@dataclass(frozen=True, slots=True)
class Boundary:
    """A place between two tokens.

    Attributes:
        token: the token behind it, by its position in the text.
        offset: where it is in the original text, in UTF-8 bytes.
        cause: why it is there.
    """

    token: int
    offset: int
    cause: Cause


@dataclass(frozen=True, slots=True)
class ExplainedStep:
    """A pre-token, what the model made of it, and which of the text's tokens these are.

    Attributes:
        pretoken: the pre-token.
        trace: what the model did.
        first: the position of its first token.
    """

    pretoken: PreToken
    trace: Trace
    first: int

    @property
    def positions(self) -> range:
        """The positions of its tokens."""
        return range(self.first, self.first + len(self.trace.tokens))


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a text has the tokens it has; they are those of `segment`, id for id.

    Attributes:
        tokenizer: its name.
        algorithm: its algorithm, in words.
        text: the text.
        tokens: its tokens.
        normalized: the text as it is split, special tokens included.
        changes: what normalisation changed.
        splitter: what made the pre-tokens, in words.
        steps: the pre-tokens in order.
        boundaries: all places between two tokens.
    """

    tokenizer: str
    algorithm: str
    text: str
    tokens: tuple[Token, ...]
    normalized: str
    changes: tuple[Change, ...]
    splitter: str
    steps: tuple[ExplainedStep, ...]
    boundaries: tuple[Boundary, ...] = field(default=())

    def step_of(self, token: int) -> ExplainedStep:
        """The step that made the token at a position. Raises `IndexError`."""
        for step in self.steps:
            if token in step.positions:
                return step
        raise IndexError(token)
