"""Assembly of explanations from derivations, with a check against the ids and the cause of every boundary."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from tokbench.core.capabilities import SupportsExplanation
from tokbench.core.tokens import Span, SpecialPolicy, TokenKind
from tokbench.errors import ConfigError
from tokbench.explain.causes import BesideAddedToken, ByDefinition, LowerScore, NewPreToken, Symbol
from tokbench.explain.derivation import Boundary, Derivation, ExplainedStep, Explanation, LookupTrace, Step
from tokbench.explain.pretokens import PreToken

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.tokens import Segmentation, Token
    from tokbench.explain.causes import Cause
    from tokbench.explain.pretokens import Alternative


def explain(tokenizer: Tokenizer, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> Explanation:
    """Explain the tokens of a text.

    Args:
        tokenizer: a tokenizer that supports explanations.
        text: the text.
        special: the policy for special tokens in the text.

    Raises:
        ConfigError: the tokenizer does not support explanations, or its derivation does not give the ids of this text.
        SpecialTokenError: the text contains a special token under `SpecialPolicy.RAISE`.
        TextError: the text contains a lone surrogate.
    """
    segmentation = tokenizer.segment(text, special=special)
    derivation = derivation_of(tokenizer, segmentation)
    found = [token.id for token in segmentation.tokens]
    if derivation.ids != found:
        other = "other tokens"
        if len(derivation.ids) != len(found):
            other = f"{len(derivation.ids)} tokens instead of its {len(found)}"
        raise ConfigError(
            f"{tokenizer.info.name!r} does something to this text that cannot be explained step by step: "
            f"the steps known here give {other}",
            hint="`tokbench viz` shows its tokens; please report the tokenizer and the text",
        )
    return Explanation(
        tokenizer=tokenizer.info.name,
        algorithm=derivation.algorithm,
        text=text,
        tokens=segmentation.tokens,
        normalized=derivation.normalized,
        changes=derivation.changes,
        splitter=derivation.splitter,
        steps=tuple(_numbered(derivation.steps)),
        boundaries=tuple(_boundaries(derivation, segmentation.tokens)),
    )


def derivation_of(tokenizer: Tokenizer, segmentation: Segmentation) -> Derivation:
    """Derive the ids of a segmented text, with special tokens as separate steps. Raises `ConfigError`."""
    if not isinstance(tokenizer, SupportsExplanation):
        info = tokenizer.info
        raise ConfigError(
            f"{info.name!r} ({info.backend}) does not describe how it makes tokens",
            hint="a backend does so with the method `derivation`; `tokbench viz` shows the tokens of any tokenizer",
        )
    parts = list(_parts(segmentation, frozenset(tokenizer.info.special_tokens.values())))
    if not any(isinstance(part, Step) for _, part in parts):
        return tokenizer.derivation(segmentation.text)
    derivations: list[Derivation] = []
    for start, part in parts:
        if isinstance(part, Step):
            derivations.append(Derivation("", part.pretoken.text, (), "", (part,)))
        else:
            derivations.append(_shifted(tokenizer.derivation(part), start))
    named = next((item for item in derivations if item.algorithm), None) or tokenizer.derivation("")
    return Derivation(
        algorithm=named.algorithm,
        normalized="".join(item.normalized for item in derivations),
        changes=tuple(change for item in derivations for change in item.changes),
        splitter=named.splitter,
        steps=tuple(step for item in derivations for step in item.steps),
    )


def _parts(segmentation: Segmentation, special_ids: frozenset[int]) -> Iterator[tuple[int, str | Step]]:
    """Yield the ordinary parts of a text, and its special tokens as steps, each with its byte offset."""
    data = segmentation.text.encode()
    reached = 0
    for token in segmentation.tokens:
        if token.kind is TokenKind.SPECIAL and token.id in special_ids:
            if token.span.start > reached:
                yield reached, data[reached : token.span.start].decode()
            yield token.span.start, _special_step(token, data[token.span.start : token.span.stop].decode())
            reached = token.span.stop
    if reached < len(data) or not reached:
        yield reached, data[reached:].decode()


def _special_step(token: Token, text: str) -> Step:
    rule = "a special token is found before anything else"
    return Step(PreToken(text, token.span, added=True), LookupTrace(rule, (Symbol(token.id, token.piece),)))


def _shifted(derivation: Derivation, offset: int) -> Derivation:
    def moved(span: Span) -> Span:
        return Span(span.start + offset, span.stop + offset)

    return replace(
        derivation,
        changes=tuple(replace(change, span=moved(change.span)) for change in derivation.changes),
        steps=tuple(
            Step(replace(step.pretoken, span=moved(step.pretoken.span)), step.trace)
            for step in derivation.steps
        ),
    )


def _numbered(steps: Sequence[Step]) -> Iterator[ExplainedStep]:
    first = 0
    for step in steps:
        yield ExplainedStep(step.pretoken, step.trace, first)
        first += len(step.trace.tokens)


def _boundaries(derivation: Derivation, tokens: Sequence[Token]) -> Iterator[Boundary]:
    position = 0
    known_causes: dict[Alternative | None, NewPreToken] = {}
    made = [step for step in derivation.steps if step.trace.tokens]
    for before, step in pairwise([None, *made]):
        assert step is not None
        if before is not None:
            yield Boundary(
                position,
                tokens[position].span.start,
                _between(before, step, derivation.splitter, known_causes),
            )
        for cause in step.trace.causes:
            position += 1
            yield Boundary(position, tokens[position].span.start, cause)
        position += 1


def _between(
    before: Step, after: Step, splitter: str, known_causes: dict[Alternative | None, NewPreToken]
) -> Cause:
    """Return the cause of a boundary between two pre-tokens, reusing equal `NewPreToken` objects."""
    for step in (before, after):
        if step.pretoken.added:
            return BesideAddedToken(step.pretoken.text)
    if isinstance(before.trace, LookupTrace) and isinstance(after.trace, LookupTrace):
        return ByDefinition(after.trace.rule)
    if after.pretoken.continues:
        return LowerScore(margin=None, piece=None, probability=1.0)
    alternative = after.pretoken.alternative
    if alternative not in known_causes:
        known_causes[alternative] = NewPreToken(alternative, splitter)
    return known_causes[alternative]
