"""Assembly of explanations from derivations, with a check against the ids and the cause of every boundary."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING

from tokbench.core.capabilities import SupportsExplanation
from tokbench.core.guarded import control_tokens
from tokbench.core.tokens import Span, SpecialPolicy, TokenKind
from tokbench.core.tokens_in_arrays import segment_as_read
from tokbench.errors import ConfigError
from tokbench.explain.as_read import AsRead, Recomputed
from tokbench.explain.causes import BesideAddedToken, ByDefinition, LowerScore, NewPreToken, Symbol
from tokbench.explain.derivation import Boundary, Derivation, ExplainedStep, Explanation, LookupTrace, Step
from tokbench.explain.pretokens import PreToken

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.tokens import Segmentation, Token
    from tokbench.explain.causes import Cause
    from tokbench.explain.derivation import Trace
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
    derivation = derivation_of(tokenizer, segmentation, special=special)
    kept = replace(
        derivation, changes=tuple(iter(derivation.changes)), steps=_with_shared_traces(derivation.steps)
    )
    explanation = _explained(tokenizer, segmentation, kept)
    return replace(
        explanation,
        steps=tuple(explanation.steps),
        boundaries=AsRead(len(explanation.boundaries), iter(explanation.boundaries)),
    )


def explain_as_read(
    tokenizer: Tokenizer, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT
) -> Explanation:
    """Explain the tokens of a text as `explain`, but derive and check each part of it each time it is read.

    Nothing is kept of the steps and boundaries of a long text. Reading a step whose ids are not those of the text
    raises `ConfigError`.
    """
    segmentation = segment_as_read(tokenizer, text, special=special)
    return _explained(tokenizer, segmentation, derivation_of(tokenizer, segmentation, special=special))


def _with_shared_traces(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return steps of which those with equal traces share one."""
    traces: dict[Hashable, Trace] = {}
    return tuple(Step(step.pretoken, traces.setdefault(step.key, step.trace)) for step in steps)


def _explained(tokenizer: Tokenizer, segmentation: Segmentation, derivation: Derivation) -> Explanation:
    tokens = segmentation.tokens
    return Explanation(
        tokenizer=tokenizer.info.name,
        algorithm=derivation.algorithm,
        text=segmentation.text,
        tokens=tokens,
        normalized=derivation.normalized,
        changes=derivation.changes,
        splitter=derivation.splitter,
        steps=Recomputed(
            partial(_checked, tokenizer, derivation, tokens), size=lambda: len(derivation.steps)
        ),
        boundaries=Recomputed(partial(_boundaries, derivation, tokens), size=lambda: max(len(tokens) - 1, 0)),
    )


def _checked(
    tokenizer: Tokenizer, derivation: Derivation, tokens: Sequence[Token]
) -> Iterator[ExplainedStep]:
    """Yield the steps with the indices of their tokens. Raises `ConfigError` for one with other ids than the text's."""
    ids = (token.id for token in tokens)
    first = 0
    for step in derivation.steps:
        symbols = step.trace.tokens
        if [symbol.id for symbol in symbols] != list(islice(ids, len(symbols))):
            raise _other_ids(tokenizer, derivation, tokens)
        yield ExplainedStep(step.pretoken, step.trace, first)
        first += len(symbols)
    if first != len(tokens):
        raise _other_ids(tokenizer, derivation, tokens)


def _other_ids(tokenizer: Tokenizer, derivation: Derivation, tokens: Sequence[Token]) -> ConfigError:
    made = len(derivation.ids)
    other = "other tokens" if made == len(tokens) else f"{made} tokens instead of its {len(tokens)}"
    return ConfigError(
        f"{tokenizer.info.name!r} does something to this text that cannot be explained step by step: "
        f"the steps known here give {other}",
        hint="`tokbench viz` shows its tokens; please report the tokenizer and the text",
    )


def derivation_of(tokenizer: Tokenizer, segmentation: Segmentation, *, special: SpecialPolicy) -> Derivation:
    """Derive the ids of a segmented text, with special tokens as separate steps. Raises `ConfigError`."""
    if not isinstance(tokenizer, SupportsExplanation):
        info = tokenizer.info
        raise ConfigError(
            f"{info.name!r} ({info.backend}) does not describe how it makes tokens",
            hint="a backend does so with the method `derivation`; `tokbench viz` shows the tokens of any tokenizer",
        )
    found = control_tokens(tokenizer) if special is SpecialPolicy.ENCODE else {}
    parts = list(_parts(segmentation, frozenset(tokenizer.info.special_tokens.values()), found=found))
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
        changes=Recomputed(lambda: chain.from_iterable(item.changes for item in derivations)),
        splitter=named.splitter,
        steps=Recomputed(
            lambda: chain.from_iterable(item.steps for item in derivations),
            size=lambda: sum(len(item.steps) for item in derivations),
        ),
    )


def _parts(
    segmentation: Segmentation, special_ids: frozenset[int], *, found: Mapping[str, int]
) -> Iterator[tuple[int, str | Step]]:
    """Yield the ordinary parts of a text, and its special tokens as steps, each with its byte offset.

    Args:
        segmentation: the text and its tokens.
        special_ids: the ids of special tokens.
        found: text → id of what is found in the text, perhaps the unknown token, which is not among `special_ids`.
    """
    data = segmentation.text.encode()
    reached = 0
    for token in segmentation.tokens:
        if token.kind not in (TokenKind.SPECIAL, TokenKind.UNKNOWN):
            continue
        covered = data[token.span.start : token.span.stop].decode(errors="replace")
        # An unknown token stands for its own text only where that was found.
        is_own_text = token.kind is TokenKind.UNKNOWN and found.get(covered.strip()) == token.id
        if is_own_text or (token.kind is TokenKind.SPECIAL and token.id in special_ids):
            if token.span.start > reached:
                yield reached, data[reached : token.span.start].decode()
            yield token.span.start, _special_step(token, covered)
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
        changes=Recomputed(
            lambda: (replace(change, span=moved(change.span)) for change in derivation.changes)
        ),
        steps=Recomputed(
            lambda: (
                Step(replace(step.pretoken, span=moved(step.pretoken.span)), step.trace)
                for step in derivation.steps
            ),
            size=lambda: len(derivation.steps),
        ),
    )


def _boundaries(derivation: Derivation, tokens: Sequence[Token]) -> Iterator[Boundary]:
    following = islice(enumerate(tokens), 1, None)
    known_causes: dict[Alternative | None, NewPreToken] = {}
    made = (step for step in derivation.steps if step.trace.tokens)
    for before, step in pairwise(chain([None], made)):
        assert step is not None
        causes: Iterable[Cause] = step.trace.causes
        if before is not None:
            causes = chain([_between(before, step, derivation.splitter, known_causes)], causes)
        for cause in causes:
            position, token = next(following)
            yield Boundary(position, token.span.start, cause)


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
