"""What normalisation changed, from where each character of the normalised text comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tokbench.core.tokens import Span
from tokbench.explain.pretokens import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Aligned(NamedTuple):
    """A character of a normalised text.

    Attributes:
        character: it.
        span: the bytes of the original text that it comes from.
    """

    character: str
    span: Span


def changes_of(
    text: str, aligned: Iterable[Aligned], *, same: Callable[[str, str], bool] = str.__eq__
) -> tuple[Change, ...]:
    """The changes between a text and its normalised form.

    Args:
        text: the original.
        aligned: the characters of the normalised form, in order.
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
