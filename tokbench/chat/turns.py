"""Find the turns of speakers if a template does not mark them.

There are two methods; the more reliable one is tried first. If a template never rewrites earlier messages, then the
messages before a turn, rendered with the generation prompt, are a prefix of the whole text, and the turn is the text
from there to the beginning of the next message. If that does not hold, origins are used: the turn begins after the
generation prompt's text, and ends with the first special token after the last character of the message.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.chat.conversation import RendersBeginnings
from tokbench.chat.rendered import TEMPLATE, Origin, Rendered, Run, Runs, Turn
from tokbench.core.alternatives import longest_first

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tokbench.chat.conversation import Conversation, Renderer

SPOKEN = frozenset({"assistant", "model"})
"""The roles that follow the generation prompt."""


def with_turns(
    renderer: Renderer,
    conversations: Sequence[Conversation],
    rendered: Sequence[Rendered],
    *,
    special_tokens: Collection[str] = (),
    bos: str | None = None,
) -> list[Rendered]:
    """Add turns to rendered texts whose renderer does not mark them.

    Args:
        renderer: the renderer of the texts.
        conversations: its inputs.
        rendered: its output for each conversation.
        special_tokens: special tokens of the tokenizer; a turn ends with one of them.
        bos: the token that begins a text, which belongs to no message.

    Raises:
        TemplateError: as `Renderer.render`.
    """
    unmarked = [number for number, text in enumerate(rendered) if not text.turns and text.runs]
    if not unmarked:
        return list(rendered)
    spoken = [
        (number, message)
        for number in unmarked
        for message, said in enumerate(conversations[number].messages)
        if said.get("role") in SPOKEN
    ]
    prompts = dict(zip(spoken, _beginnings(renderer, conversations, spoken, prompt=True), strict=True))
    # Jinja has rendered the whole conversation already, unless as something longer or shorter.
    is_jinja = isinstance(renderer, RendersBeginnings)
    turns: dict[tuple[int, int], str | None] = {
        (number, len(conversations[number].messages) - 1): rendered[number].text
        for number in unmarked
        if is_jinja and not (rendered[number].ends_with_prompt or conversations[number].is_unfinished)
    }
    parts = [place for place in spoken if place not in turns]
    following = [(number, message + 1) for number, message in parts]
    turns |= zip(parts, _beginnings(renderer, conversations, following), strict=True)
    contents = {number: _Contents(rendered[number]) for number in unmarked}
    found = {
        (n, message): _by_prefix(contents[n], prompts[n, message], turns[n, message]) for n, message in spoken
    }
    others = [place for place in spoken if found[place] is None]
    plains = dict(zip(others, _beginnings(renderer, conversations, others), strict=True))
    specials = _SpecialTokens(special_tokens)
    results = list(rendered)
    for number in unmarked:
        places = [
            found.get((number, message))
            or _by_origin(
                contents[number],
                message,
                _header(prompts.get((number, message)), plains.get((number, message))),
                specials,
            )
            for message in range(len(conversations[number].messages))
        ]
        with_places = replace(rendered[number], turns=_turns(places))
        results[number] = _with_owners(with_places, specials, bos=bos)
    return results


def _beginnings(
    renderer: Renderer,
    conversations: Sequence[Conversation],
    places: Sequence[tuple[int, int]],
    *,
    prompt: bool = False,
) -> list[str | None]:
    """Return the text of the first messages of conversations, given the numbers of both; None if it is refused."""
    if isinstance(renderer, RendersBeginnings):
        return renderer.render_beginnings(
            [(conversations[number], count) for number, count in places], prompt=prompt
        )
    parts = [
        replace(conversations[number], messages=conversations[number].messages[:count])
        for number, count in places
    ]
    return [
        made.text if isinstance(made, Rendered) else None for made in renderer.render(parts, prompt=prompt)
    ]


def _header(prompt: str | None, plain: str | None) -> str:
    """Return what a generation prompt adds to a text; empty if that is unknown."""
    return (
        prompt[len(plain) :] if prompt is not None and plain is not None and prompt.startswith(plain) else ""
    )


def _with_owners(rendered: Rendered, specials: _SpecialTokens, *, bos: str | None = None) -> Rendered:
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
    return replace(rendered, runs=Runs.of(_runs_with_owners(rendered, edges)))


def _header_start(rendered: Rendered, first: int, specials: _SpecialTokens, *, bos: str | None) -> int:
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


def _turns(places: Sequence[tuple[int, int] | None]) -> tuple[Turn, ...]:
    """Return the turns at the places of messages; none overlaps the one before it."""
    turns: list[Turn] = []
    for message, place in enumerate(places):
        if place is not None:
            start = max(place[0], turns[-1].stop if turns else 0)
            if start < place[1]:
                turns.append(Turn(message, start, place[1]))
    return tuple(turns)


def _by_prefix(contents: _Contents, prompt: str | None, turn: str | None) -> tuple[int, int] | None:
    """Return start and stop of a turn if the text begins with the prompt and the turn, else None."""
    if prompt is None or turn is None or not contents.text.startswith(turn) or not turn.startswith(prompt):
        return None
    return len(prompt), contents.without_white_space(len(prompt), len(turn))


def _by_origin(
    contents: _Contents, message: int, header: str, specials: _SpecialTokens
) -> tuple[int, int] | None:
    if message not in contents.extents:
        return None
    first, last = contents.extents[message]
    at = contents.text.rfind(header, contents.stop_before(first), first) if header else -1
    start = first if at < 0 else at + len(header)
    end = specials.first_end(contents.text[last : contents.start_after(last)])
    return start, last if end is None else last + end


def _stretch_before(rendered: Rendered, position: int) -> int:
    """Return where the template's text in front of a position begins."""
    return _Contents(rendered).stop_before(position)


class _Contents:
    """The parts of a rendered text that come from messages and other fields, in order.

    Attributes:
        text: the text.
        extents: message → where its content begins and ends.
    """

    def __init__(self, rendered: Rendered) -> None:
        self.text = rendered.text
        runs = [run for run in rendered.runs if run.origin.field is not None]
        self._starts, self._stops = [run.start for run in runs], [run.stop for run in runs]
        self.extents: dict[int, tuple[int, int]] = {}
        for run in runs:
            if (message := run.origin.message) is not None:
                first, _ = self.extents.get(message, (run.start, run.stop))
                self.extents[message] = first, run.stop

    def stop_before(self, position: int) -> int:
        """Return the end of the last content that ends at a position or before it; 0 if there is none."""
        place = bisect_right(self._stops, position)
        return self._stops[place - 1] if place else 0

    def start_after(self, position: int) -> int:
        """Return the start of the first content from a position on; the end of the text if there is none."""
        place = bisect_left(self._starts, position)
        return self._starts[place] if place < len(self._starts) else len(self.text)

    def without_white_space(self, start: int, stop: int) -> int:
        """Return the end of a turn without the template's white space after it."""
        place = bisect_left(self._starts, stop)
        least = max(start, min(stop, self._stops[place - 1]) if place else 0)
        end = stop
        while end > least and self.text[end - 1].isspace():
            end -= 1
        return end


class _SpecialTokens:
    """The texts of a tokenizer's special tokens, for searching in what a template writes."""

    def __init__(self, texts: Collection[str]) -> None:
        self._texts = frozenset(text for text in texts if text)
        self._lengths = sorted({len(text) for text in self._texts}, reverse=True)
        self._pattern = re.compile(longest_first(self._texts))

    def first_end(self, text: str) -> int | None:
        """Return the end of the first special token in a text; None if there is none."""
        match = self._pattern.search(text)
        return None if match is None else match.end()

    def at_end(self, text: str) -> str | None:
        """Return the longest special token that a text ends with."""
        return next((text[-size:] for size in self._lengths if text[-size:] in self._texts), None)
