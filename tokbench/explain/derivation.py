"""Derivations, in which a tokenizer reports the steps from a text to ids, and complete explanations."""

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
    """A pre-token with the trace of the model's steps."""

    pretoken: PreToken
    trace: Trace


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
    changes: tuple[Change, ...]
    splitter: str
    steps: tuple[Step, ...]

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
class ExplainedStep:
    """A pre-token with its trace and the indices of its tokens.

    Attributes:
        pretoken: the pre-token.
        trace: the trace of the model's steps.
        first: index of its first token.
    """

    pretoken: PreToken
    trace: Trace
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
    tokens: tuple[Token, ...]
    normalized: str
    changes: tuple[Change, ...]
    splitter: str
    steps: tuple[ExplainedStep, ...]
    boundaries: tuple[Boundary, ...] = field(default=())

    def step_of(self, token: int) -> ExplainedStep:
        """Return the step that produced the token at an index. Raises `IndexError`."""
        for step in self.steps:
            if token in step.positions:
                return step
        raise IndexError(token)
