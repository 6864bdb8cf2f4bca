"""How a text became ids: the derivation that a tokenizer gives, and the explanation with the cause of each boundary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokbench.core.tokens import Token
    from tokbench.explain.causes import Cause
    from tokbench.explain.pretokens import Change, PreToken
    from tokbench.explain.traces import Trace


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
        changes: what normalization changed, in the order of the text.
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
        token: the token after it, by its position in the text.
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
        changes: what normalization changed.
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
