"""What comes before the algorithm: what normalization changed, and the pre-tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tokbench.core.tokens import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


@dataclass(frozen=True, slots=True)
class Change:
    """Characters that normalization changed.

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
        text: as the model sees it, normalized.
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


class Aligned(NamedTuple):
    """A character of a normalized text.

    Attributes:
        character: it.
        span: the bytes of the original text that it comes from.
    """

    character: str
    span: Span


def changes_of(
    text: str, aligned: Iterable[Aligned], *, same: Callable[[str, str], bool] = str.__eq__
) -> tuple[Change, ...]:
    """The changes between a text and its normalized form.

    Args:
        text: the original.
        aligned: the characters of the normalized form, in order.
        same: whether characters count as what they became.

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
    """Characters that come from the same place, or from overlapping ones, together."""
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
