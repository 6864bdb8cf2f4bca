"""The message that each part of a template's own text belongs to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.chat.contents import Contents, SpecialTokens
from tokbench.chat.rendered import TEMPLATE, Origin, Rendered, Run, Runs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence


def with_owners(rendered: Rendered, specials: SpecialTokens, *, bos: str | None = None) -> Rendered:
    """Assign the template's text between two messages to one of them.

    White space after a message belongs to that message, and what follows is the header of the next one. If that
    contains a token that ends turns, as after a list of tools, the header begins after the last of these. Before the
    first message, the beginning of the text and text of the template itself belong to none; so does everything after
    the last message.
    """
    contents = Contents(rendered)
    ends = _end_tokens(rendered, contents, specials)
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
        if end is None:
            start = _header_start(rendered, contents, first, specials, bos=bos)
        else:
            start = _after_white_space(rendered.text, _last_end(contents, ends, end, first) or end)
            start = end if start >= first else start  # a token right before a message is its header
        if first < start:
            return rendered  # the messages are interleaved
        if end is None:
            edges.append((start, message))
        else:
            edges[-1] = start, message
        end = _after_white_space(rendered.text, stop)
        edges.append((end, None))
    return replace(rendered, runs=Runs.of(_runs_with_owners(rendered, edges)))


def _after_white_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _end_tokens(rendered: Rendered, contents: Contents, specials: SpecialTokens) -> set[str]:
    """Return the special tokens with which the template ends turns."""
    starts = (max(turn.start, contents.stop_before(turn.stop)) for turn in rendered.turns)
    found = (
        specials.at_end(rendered.text[start : turn.stop])
        for start, turn in zip(starts, rendered.turns, strict=True)
    )
    return {end for end in found if end}


def _last_end(contents: Contents, ends: Collection[str], start: int, stop: int) -> int | None:
    """Return the end of the last such token that the template writes in a range of the text; None if there is none."""
    for low, high in contents.gaps_before(stop, start):
        found = [place + len(end) for end in ends if (place := contents.text.rfind(end, low, high)) >= 0]
        if found:
            return max(found)
    return None


def _header_start(
    rendered: Rendered, contents: Contents, first: int, specials: SpecialTokens, *, bos: str | None
) -> int:
    """Return where the header of the first message begins: after the token that begins the text, or a template turn.

    Args:
        rendered: the text, with turns.
        contents: the contents of the text.
        first: where the message itself begins.
        specials: the special tokens of the tokenizer.
        bos: the token that begins a text; if it occurs several times, it begins messages.
    """
    text = rendered.text
    start = stretch = contents.stop_before(first)
    if start == 0 and bos and text.startswith(bos) and _times_written(rendered, bos) == 1:
        start = len(bos)
    begin = _last_end(contents, _end_tokens(rendered, contents, specials), start, first) or 0
    # A special token may close earlier text of no message, such as a list of tools.
    if not begin and stretch:
        begin = start + (specials.first_end(text[start:first]) or 0)
    return min(_after_white_space(text, max(start, begin)), max(first, start))


def _runs_with_owners(rendered: Rendered, edges: Sequence[tuple[int, int | None]]) -> Iterator[Run]:
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
