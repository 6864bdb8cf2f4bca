"""The steps before the algorithm: the changes by normalization, and the pre-tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tokbench.core.tokens import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


@dataclass(frozen=True, slots=True)
class Change:
    """A change by normalization.

    Attributes:
        span: span of the changed characters in the original text; empty for inserted text.
        before: the original characters.
        after: the normalized characters; empty for dropped text.
    """

    span: Span
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Alternative:
    """The alternative of a split pattern that matched.

    Attributes:
        number: its position in the pattern, from 1.
        regex: its regular expression.
        meaning: what it matches, in words; None for an uncommon alternative.
    """

    number: int
    regex: str
    meaning: str | None = None


@dataclass(frozen=True, slots=True)
class PreToken:
    """A part of the text that the model processes separately.

    Attributes:
        text: the normalized text.
        span: its span in the original text.
        alternative: the alternative of the pattern that matched; None if unknown or without a pattern.
        added: whether it is an added token, which the model does not process.
        continues: whether the text is not actually split before it: it is shown separately because no piece crosses.
    """

    text: str
    span: Span
    alternative: Alternative | None = None
    added: bool = False
    continues: bool = False


class Aligned(NamedTuple):
    """A character of a normalized text with its origin.

    Attributes:
        character: the character.
        span: the span of the original text that it comes from.
    """

    character: str
    span: Span


def changes_of(
    text: str, aligned: Iterable[Aligned], *, same: Callable[[str, str], bool] = str.__eq__
) -> tuple[Change, ...]:
    """Return the changes between a text and its normalized form.

    Args:
        text: the original text.
        aligned: the characters of the normalized form, in order.
        same: whether original and normalized characters count as unchanged.

    >>> found = changes_of("Éa ", [Aligned("e", Span(0, 2)), Aligned("a", Span(2, 3))])
    >>> [(change.before, change.after) for change in found]
    [('É', 'e'), (' ', '')]
    """
    data = text.encode()
    made: list[Change] = []
    reached = 0
    for span, after in _groups(aligned):
        if span.start > reached:
            made.append(
                Change(Span(reached, span.start), data[reached : span.start].decode(errors="replace"), "")
            )
        before = data[span.start : span.stop].decode(errors="replace")
        reached = max(reached, span.stop)
        if same(before, after):
            continue
        if before and after.endswith(before):
            made.append(Change(Span(span.start, span.start), "", after.removesuffix(before)))
        else:
            made.append(Change(span, before, after))
    if reached < len(data):
        made.append(Change(Span(reached, len(data)), data[reached:].decode(errors="replace"), ""))
    return tuple(made)


def _groups(aligned: Iterable[Aligned]) -> Iterator[tuple[Span, str]]:
    """Group characters with equal or overlapping spans."""
    span, after = Span(0, 0), ""
    for character, its in aligned:
        if after and (its.start < span.stop or its.start == span.start):
            span, after = Span(min(span.start, its.start), max(span.stop, its.stop)), after + character
            continue
        if after:
            yield span, after
        span, after = its, character
    if after:
        yield span, after
