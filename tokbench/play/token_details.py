"""Details of the selected token: its bytes, its merges, and why it begins and ends where it does."""

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
from tokbench.play.surroundings import explain_token
from tokbench.render.glyphs import glyphs_of, text_of, visible
from tokbench.render.terminal import Line, folded_to
from tokbench.render.token_view import FAINT
from tokbench.workbench.search_vocabulary import search_vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.core.tokens import SpecialPolicy, Token
    from tokbench.play.columns import Column
    from tokbench.play.surroundings import ExplainedToken
    from tokbench.workbench.search_vocabulary import TokenDetails

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
    shown = text_of(glyphs_of(token.piece)) or "⟨empty⟩"
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
