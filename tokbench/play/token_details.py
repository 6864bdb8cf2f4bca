"""Details of the selected token: its bytes, its merges, and why it is where it is, by the text around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from tokbench.core.wording import counted
from tokbench.errors import ConfigError
from tokbench.explain.sentences import cause_in_words
from tokbench.inspection.search import TokenQuery
from tokbench.play.merge_tree import merge_tree
from tokbench.render.explain_traces import Painter, step_frames
from tokbench.render.glyphs import EMPTY_MARK, glyphs_of, text_of, visible
from tokbench.render.terminal import Line, folded_to
from tokbench.render.token_view import FAINT
from tokbench.workbench.explain import explain_text
from tokbench.workbench.search_vocabulary import search_vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.core.tokens import SpecialPolicy, Token
    from tokbench.explain.causes import Cause
    from tokbench.explain.derivation import ExplainedStep
    from tokbench.play.columns import Column
    from tokbench.render.token_view import Palette
    from tokbench.workbench.explain import ExplainResult
    from tokbench.workbench.search_vocabulary import TokenDetails

REACHES = (400, 4_000, 40_000)
"""Bytes to explain on each side of a token: of a longer text, the smallest of these that gives the same tokens."""


@dataclass(frozen=True, slots=True)
class ExplainedToken:
    """A token with its pre-token.

    Attributes:
        step: the pre-token, with its trace.
        before: the cause of the boundary before the token; None at the beginning of the text.
        after: the cause of the boundary after it; None at the end.
        result: the explanation of the text around it.
    """

    step: ExplainedStep
    before: Cause | None
    after: Cause | None
    result: ExplainResult


def explain_token(column: Column, index: int, *, special: SpecialPolicy) -> ExplainedToken:
    """Explain why a token is where it is.

    Args:
        column: the tokens of the text.
        index: index of the token.
        special: what the text of a special token becomes.

    Raises:
        ConfigError: the tokenizer cannot explain itself, or no allowed part of the text gives the same tokens.
    """
    size = len(column.data)
    start, stop = int(column.starts[index]), int(column.stops[index])
    for reach in REACHES:
        first, last = max(start - reach, 0), min(stop + reach, size)
        found = _explain_part(
            column, index, _character_start(column.data, first), _character_start(column.data, last), special
        )
        if found is not None:
            return found
        if first == 0 and last == size:
            break
    raise ConfigError(
        "the text around this token has different tokens when it is encoded alone",
        hint="shorten the text: up to 40,000 bytes on each side are explained",
    )


def _explain_part(
    column: Column, index: int, first: int, last: int, special: SpecialPolicy
) -> ExplainedToken | None:
    """Explain a part of the text; None if the token or its neighbours differ in it."""
    result = explain_text(
        column.source.tokenizer, column.data[first:last].decode(errors="replace"), special=special
    )
    tokens = [(token.id, token.span.start + first) for token in result.explanation.tokens]
    wanted = (int(column.ids[index]), int(column.starts[index]))
    if wanted not in tokens:
        return None
    place = tokens.index(wanted)
    for beside in (-1, 1):
        neighbour = index + beside
        is_inside = 0 <= place + beside < len(tokens)
        expected = (
            (int(column.ids[neighbour]), int(column.starts[neighbour]))
            if 0 <= neighbour < len(column)
            else None
        )
        if (tokens[place + beside] if is_inside else None) != expected:
            return None
    return ExplainedToken(
        result.explanation.step_of(place),
        result.boundary(place).cause if place else None,
        result.boundary(place + 1).cause if place + 1 < len(tokens) else None,
        result,
    )


def _character_start(data: bytes, offset: int) -> int:
    """Return the nearest beginning of a character at or before an offset."""
    while 0 < offset < len(data) and data[offset] & 0xC0 == 0x80:
        offset -= 1
    return offset


def frames_of(explained: ExplainedToken, *, palette: Palette | None, width: int) -> list[list[Text]]:
    """Return the frames of a pre-token: the pre-token, each step, then the cause of each boundary in it.

    Args:
        explained: a token of the pre-token.
        palette: the colours; None uses separators instead.
        width: maximum columns of a row.
    """
    painter = Painter(palette, width)
    number = explained.result.explanation.steps.index(explained.step) + 1
    frames = step_frames(explained.step, painter, number=number, again=number)
    rows = ([row for line in frame for row in folded_to(line, width)] for frame in frames)
    return [[row for row in frame if row.plain.strip()] for frame in rows]


_BOLD = Style(bold=True)
_LABEL = 8
_BYTES_SHOWN = 64
_USES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class TokenAnswer:
    """The details of a token of a text.

    Attributes:
        index: index of the token.
        token: the token.
        details: its entry in the vocabulary; None if it has none.
        explained: why it is where it is; None if unknown.
        problem: why that is unknown.
    """

    column: Column
    index: int
    token: Token
    details: TokenDetails | None
    explained: ExplainedToken | None
    problem: str | None = None


def ask_about(column: Column, index: int, *, special: SpecialPolicy) -> TokenAnswer:
    """Look up the details of a token; the first lookup of a tokenizer takes longer."""
    token = column.token(index)
    vocabulary = column.source.vocabulary
    details = None
    if token.id in vocabulary.tokens:
        [details] = search_vocabulary(vocabulary, TokenQuery(ids=frozenset({token.id}))).details
    try:
        return TokenAnswer(column, index, token, details, explain_token(column, index, special=special))
    except ConfigError as error:
        return TokenAnswer(column, index, token, details, None, error.message)


def detail_lines(answer: TokenAnswer, *, width: int) -> list[Text]:
    """Format an answer in lines of at most a given width."""
    return [row for line in _lines(answer, width) for row in folded_to(line, width)]


def _lines(answer: TokenAnswer, width: int) -> Iterator[Line]:
    token, details = answer.token, answer.details
    yield Line(_head(answer))
    yield _labelled("bytes", _bytes_of(token))
    if details is not None and details.token.spelling not in (None, details.token.text):
        yield _labelled("spelled", visible(details.token.spelling or ""))
    yield from _tree(details, width)
    if answer.explained is None:
        yield _labelled("why", answer.problem or "")
        return
    before, after = answer.explained.before, answer.explained.after
    yield _labelled("begins", cause_in_words(before) if before else "the text begins")
    yield _labelled("ends", cause_in_words(after) if after else "the text ends")
    if details is not None and details.uses:
        yield _labelled("used by", _uses(details))


def _head(answer: TokenAnswer) -> Text:
    token, details = answer.token, answer.details
    shown = text_of(glyphs_of(token.piece)) or EMPTY_MARK
    head = Text.assemble((shown, _BOLD), f"  id {token.id:,}")
    if details is not None and details.token.rank is not None:
        head.append(f" · rank {details.token.rank:,}")
    if details is not None and details.token.score is not None:
        head.append(f" · score {details.token.score:.3f}")
    if token.kind.value != "normal":
        head.append(f" · {token.kind.value}")
    if not answer.column.part.is_whole:
        return head
    place = f"  token {answer.index + 1:,} of {len(answer.column):,}, bytes {token.span.start:,}-{token.span.stop:,}"
    return head.append(place, FAINT)


def _bytes_of(token: Token) -> str:
    shown = token.piece[:_BYTES_SHOWN].hex(" ")
    more = f" … {counted(len(token.piece), 'byte')}" if len(token.piece) > _BYTES_SHOWN else ""
    return shown + more or "none"


def _tree(details: TokenDetails | None, width: int) -> Iterator[Line]:
    if details is None or details.not_applicable is not None or details.derivation is None:
        reason = "it has no bytes of its own" if details is None else details.not_applicable
        yield _labelled("merges", reason or "")
    elif not details.derivation.steps:
        yield _labelled("merges", "none: it is in the vocabulary from the start")
    elif (rows := merge_tree(details.derivation, width=width - _LABEL)) is None:
        count = counted(len(details.derivation.steps), "merge")
        yield _labelled("merges", f"{count}, too wide to be drawn here")
    else:
        for number, row in enumerate(rows):
            yield _labelled("merges" if number == 0 else "", row)


def _uses(details: TokenDetails) -> str:
    shown = ", ".join(f"{text_of(glyphs_of(rule.merged.data))}" for rule in details.uses[:_USES_SHOWN])
    more = len(details.uses) - _USES_SHOWN
    return f"{shown} and {counted(more, 'other')}" if more > 0 else shown


def _labelled(label: str, text: str) -> Line:
    return Line(Text.assemble((f"{label:<{_LABEL}}", FAINT), text), label=_LABEL)
