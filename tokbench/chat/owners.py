"""The message that each part of a template's own text belongs to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.chat.contents import Contents, SpecialTokens
from tokbench.chat.rendered import TEMPLATE, Origin, Rendered, Run, Runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def with_owners(rendered: Rendered, specials: SpecialTokens, *, bos: str | None = None) -> Rendered:
    """Assign the template's text between two messages to one of them.

    White space after a message belongs to that message, and what follows is the header of the next one. Before the
    first message, the beginning of the text and text of the template itself belong to none; so does everything after
    the last message.
    """
    extents: dict[int, tuple[int, int]] = {}
    known = [
        (run.origin.message, run.start, run.stop) for run in rendered.runs if run.origin.message is not None
    ]
    for message, start, stop in sorted([*known, *rendered.turns], key=lambda item: item[1]):
        first, last = extents.get(message, (start, stop))
        extents[message] = min(first, start), max(last, stop)
    edges: list[tuple[int, int | None]] = [(0, None)]
    end: int | None = None
    for message, (first, stop) in sorted(extents.items(), key=lambda item: item[1]):
        start = _header_start(rendered, first, specials, bos=bos) if end is None else end
        if first < start:
            return rendered  # the messages are interleaved
        if end is None:
            edges.append((start, message))
        else:
            edges[-1] = start, message
        end = stop
        while end < len(rendered.text) and rendered.text[end].isspace():
            end += 1
        edges.append((end, None))
    return replace(rendered, runs=Runs.of(_runswith_owners(rendered, edges)))


def _header_start(rendered: Rendered, first: int, specials: SpecialTokens, *, bos: str | None) -> int:
    """Return where the header of the first message begins: after the token that begins the text, or a template turn.

    Args:
        rendered: the text, with turns.
        first: where the message itself begins.
        specials: the special tokens of the tokenizer.
        bos: the token that begins a text; if it occurs several times, it begins messages.
    """
    text = rendered.text
    start = _stretch_before(rendered, first)
    if start == 0 and bos and text.startswith(bos) and _times_written(rendered, bos) == 1:
        start = len(bos)
    ends = {end for turn in rendered.turns if (end := specials.at_end(text[turn.start : turn.stop]))}
    begin = max(
        (place + len(end) for end in ends if (place := text.rfind(end, start, first)) >= 0), default=0
    )
    # A special token may close earlier text of no message, such as a list of tools.
    if not begin and _stretch_before(rendered, first):
        begin = start + (specials.first_end(text[start:first]) or 0)
    start = max(start, begin)
    while start < first and text[start].isspace():
        start += 1
    return start


def _runswith_owners(rendered: Rendered, edges: Sequence[tuple[int, int | None]]) -> Iterator[Run]:
    """Yield the runs cut at edges; template text gets the message of the last edge before it."""
    place = 0
    for start, stop, origin in rendered.runs:
        position = start
        while position < stop:
            while place + 1 < len(edges) and edges[place + 1][0] <= position:
                place += 1
            following = edges[place + 1][0] if place + 1 < len(edges) else stop
            end = min(stop, following) if origin == TEMPLATE else stop
            owner = Origin(edges[place][1]) if origin == TEMPLATE else origin
            yield Run(position, end, owner)
            position = end


def _times_written(rendered: Rendered, token: str) -> int:
    """Count how often the template itself writes a token."""
    return sum(
        rendered.text.count(token, run.start, run.stop) for run in rendered.runs if run.origin.field is None
    )


def _stretch_before(rendered: Rendered, position: int) -> int:
    """Return where the template's text in front of a position begins."""
    return Contents(rendered).stop_before(position)
