"""Find the turns of speakers if a template does not mark them.

There are two methods; the more reliable one is tried first. If a template never rewrites earlier messages, then the
messages before a turn, rendered with the generation prompt, are a prefix of the whole text, and the turn is the text
from there to the beginning of the next message. If that does not hold, origins are used: the turn begins after the
generation prompt's text, and ends with the first special token after the last character of the message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokbench.chat.rendered import TEMPLATE, Origin, Rendered, Run, Runs, Turn

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tokbench.chat.conversation import Conversation, Renderer
    from tokbench.errors import TemplateError

SPOKEN = frozenset({"assistant", "model"})
"""The roles that follow the generation prompt."""


@dataclass(frozen=True, slots=True)
class _Prefixes:
    """Renderings of the messages before a turn, with and without prompt, and including the turn; None if refused."""

    prompt: str | None
    turn: str | None
    plain: str | None


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
    before = [replace(conversations[n], messages=conversations[n].messages[:m]) for n, m in spoken]
    up_to = [replace(conversations[n], messages=conversations[n].messages[: m + 1]) for n, m in spoken]
    prompts, turns = renderer.render(before, prompt=True), renderer.render(up_to)
    plains = renderer.render(before)
    prefixes = {
        place: _Prefixes(_text(prompt), _text(turn), _text(plain))
        for place, prompt, turn, plain in zip(spoken, prompts, turns, plains, strict=True)
    }
    specials = _SpecialTokens(special_tokens)
    results = list(rendered)
    for number in unmarked:
        roles = [str(message.get("role")) for message in conversations[number].messages]
        own = {message: prefixes[n, message] for n, message in prefixes if n == number}
        found = _turns(rendered[number], roles, own, specials)
        results[number] = _with_owners(replace(rendered[number], turns=found), specials, bos=bos)
    return results


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


def _turns(
    rendered: Rendered,
    roles: Sequence[str],
    prefixes: dict[int, _Prefixes],
    specials: _SpecialTokens,
) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    for message in range(len(roles)):
        known = _by_prefix(rendered, prefixes[message]) if message in prefixes else None
        place = known or _by_origin(rendered, message, prefixes.get(message), specials)
        if place is not None:
            start = max(place[0], turns[-1].stop if turns else 0)
            if start < place[1]:
                turns.append(Turn(message, start, place[1]))
    return tuple(turns)


def _by_prefix(rendered: Rendered, prefixes: _Prefixes) -> tuple[int, int] | None:
    """Return start and stop of a turn if the text begins with the prefix and the turn, else None."""
    prompt, turn = prefixes.prompt, prefixes.turn
    if prompt is None or turn is None or not rendered.text.startswith(turn) or not turn.startswith(prompt):
        return None
    return len(prompt), _without_white_space(rendered, len(prompt), len(turn))


def _without_white_space(rendered: Rendered, start: int, stop: int) -> int:
    """Return the end of a turn without the template's white space after it."""
    content = [run.stop for run in rendered.runs if run.start < stop and run.origin.field is not None]
    least = max([start, *(min(stop, end) for end in content)])
    end = stop
    while end > least and rendered.text[end - 1].isspace():
        end -= 1
    return end


def _by_origin(
    rendered: Rendered, message: int, prefixes: _Prefixes | None, specials: _SpecialTokens
) -> tuple[int, int] | None:
    own = [run for run in rendered.runs if run.origin.message == message and run.origin.field is not None]
    if not own:
        return None
    first, last = own[0].start, own[-1].stop
    start = first
    if prefixes is not None and prefixes.prompt is not None and prefixes.plain is not None:
        header = (
            prefixes.prompt.removeprefix(prefixes.plain) if prefixes.prompt.startswith(prefixes.plain) else ""
        )
        written = _stretch_before(rendered, first)
        at = rendered.text.rfind(header, written, first) if header else -1
        start = first if at < 0 else at + len(header)
    following = next(
        (run.start for run in rendered.runs if run.start >= last and run.origin.field is not None), None
    )
    limit = len(rendered.text) if following is None else following
    end = specials.first_end(rendered.text[last:limit])
    return start, last if end is None else last + end


def _stretch_before(rendered: Rendered, position: int) -> int:
    """Return where the template's text in front of a position begins."""
    return max(
        [0, *(run.stop for run in rendered.runs if run.stop <= position and run.origin.field is not None)]
    )


class _SpecialTokens:
    """The texts of a tokenizer's special tokens, for searching in what a template writes."""

    def __init__(self, texts: Collection[str]) -> None:
        self._texts = frozenset(text for text in texts if text)
        self._lengths = sorted({len(text) for text in self._texts}, reverse=True)
        longest_first = sorted(self._texts, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def first_end(self, text: str) -> int | None:
        """Return the end of the first special token in a text; None if there is none."""
        match = self._pattern.search(text)
        return None if match is None else match.end()

    def at_end(self, text: str) -> str | None:
        """Return the longest special token that a text ends with."""
        return next((text[-size:] for size in self._lengths if text[-size:] in self._texts), None)


def _text(rendered: Rendered | TemplateError) -> str | None:
    return rendered.text if isinstance(rendered, Rendered) else None
