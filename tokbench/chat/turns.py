"""Find what each speaker says where a template does not mark it.

Two ways, the surer one first. A template that never rewrites what came before writes the messages up to a turn, ready
for its speaker, as the beginning of the whole: what follows, up to the beginning of the next message, is the turn.
Where that does not hold, the origins tell: the turn begins after the text that makes a model speak, and ends with the
first special token after the last character of the message.
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
"""The roles that are spoken after `add_generation_prompt`."""


@dataclass(frozen=True, slots=True)
class _Prefixes:
    """The texts of the messages before a turn, ready for its speaker, and of those up to its end; None if refused."""

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
    """The same texts with their turns, also from a renderer that does not mark them.

    Args:
        renderer: wrote the texts.
        conversations: what it was given.
        rendered: what it made of each.
        special_tokens: of the tokenizer; a turn ends with one.
        bos: the one that begins a text, which is of no message.

    Raises:
        TemplateError: as `Renderer.render`.
    """
    asked = [number for number, each in enumerate(rendered) if not each.turns and each.runs]
    if not asked:
        return list(rendered)
    spoken = [
        (number, message)
        for number in asked
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
    made = list(rendered)
    for number in asked:
        roles = [str(message.get("role")) for message in conversations[number].messages]
        own = {message: prefixes[n, message] for n, message in prefixes if n == number}
        found = _turns(rendered[number], roles, own, specials)
        made[number] = _with_owners(replace(rendered[number], turns=found), specials, bos=bos)
    return made


def _with_owners(rendered: Rendered, specials: _SpecialTokens, *, bos: str | None = None) -> Rendered:
    """The same text where what the template writes between two messages belongs to one of them.

    White space after a message is of that one, what follows is the header of the next. Before the first message what
    begins the text, and what the template says by itself, belong to none; after the last, everything.
    """
    extents: dict[int, tuple[int, int]] = {}
    known = [
        (run.origin.message, run.start, run.stop) for run in rendered.runs if run.origin.message is not None
    ]
    for message, start, stop in sorted([*known, *rendered.turns], key=lambda each: each[1]):
        first, last = extents.get(message, (start, stop))
        extents[message] = min(first, start), max(last, stop)
    edges: list[tuple[int, int | None]] = [(0, None)]
    end: int | None = None
    for message, (first, stop) in sorted(extents.items(), key=lambda item: item[1]):
        start = _header_start(rendered, first, specials, bos=bos) if end is None else end
        if first < start:
            return rendered  # messages are not written one after another
        if end is None:
            edges.append((start, message))
        else:
            edges[-1] = start, message
        end = stop
        while end < len(rendered.text) and rendered.text[end].isspace():
            end += 1
        edges.append((end, None))
    return replace(rendered, runs=Runs.of(_owned(rendered, edges)))


def _header_start(rendered: Rendered, first: int, specials: _SpecialTokens, *, bos: str | None) -> int:
    """Where the header of the first message begins: after the token that begins the text, or a turn of the template.

    Args:
        rendered: the text, with turns.
        first: where the message itself begins.
        specials: those of the tokenizer.
        bos: the token that begins a text; where it is written again, it begins messages.
    """
    text = rendered.text
    start = _stretch_before(rendered, first)
    if start == 0 and bos and text.startswith(bos) and _times_written(rendered, bos) == 1:
        start = len(bos)
    ends = {end for turn in rendered.turns if (end := specials.at_end(text[turn.start : turn.stop]))}
    begin = max(
        (place + len(end) for end in ends if (place := text.rfind(end, start, first)) >= 0), default=0
    )
    if not begin and _stretch_before(
        rendered, first
    ):  # a token closes what stands before, as a list of tools
        begin = start + (specials.first_end(text[start:first]) or 0)
    start = max(start, begin)
    while start < first and text[start].isspace():
        start += 1
    return start


def _owned(rendered: Rendered, edges: Sequence[tuple[int, int | None]]) -> Iterator[Run]:
    """The runs cut at edges, each with the message that begins at the last one before it, where it has none."""
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
    """How often the template itself writes a token."""
    return sum(
        rendered.text.count(token, run.start, run.stop) for run in rendered.runs if run.origin.field is None
    )


def _turns(
    rendered: Rendered,
    roles: Sequence[str],
    prefixes: dict[int, _Prefixes],
    specials: _SpecialTokens,
) -> tuple[Turn, ...]:
    found: list[Turn] = []
    for message in range(len(roles)):
        known = _by_prefix(rendered, prefixes[message]) if message in prefixes else None
        place = known or _by_origin(rendered, message, prefixes.get(message), specials)
        if place is not None:
            start = max(place[0], found[-1].stop if found else 0)
            if start < place[1]:
                found.append(Turn(message, start, place[1]))
    return tuple(found)


def _by_prefix(rendered: Rendered, prefixes: _Prefixes) -> tuple[int, int] | None:
    """Start and stop, where what comes before and the turn itself begin the whole text."""
    prompt, turn = prefixes.prompt, prefixes.turn
    if prompt is None or turn is None or not rendered.text.startswith(turn) or not turn.startswith(prompt):
        return None
    return len(prompt), _without_white_space(rendered, len(prompt), len(turn))


def _without_white_space(rendered: Rendered, start: int, stop: int) -> int:
    """Where a turn ends without the template's white space after it."""
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
    """Where the template's text in front of a position begins."""
    return max(
        [0, *(run.stop for run in rendered.runs if run.stop <= position and run.origin.field is not None)]
    )


class _SpecialTokens:
    """The texts of the special tokens of a tokenizer, to be found in what a template writes."""

    def __init__(self, texts: Collection[str]) -> None:
        self._texts = frozenset(text for text in texts if text)
        self._lengths = sorted({len(text) for text in self._texts}, reverse=True)
        longest_first = sorted(self._texts, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def first_end(self, text: str) -> int | None:
        """Where the first in a text ends; None where there is none."""
        match = self._pattern.search(text)
        return None if match is None else match.end()

    def at_end(self, text: str) -> str | None:
        """The longest that a text ends with."""
        return next((text[-size:] for size in self._lengths if text[-size:] in self._texts), None)


def _text(rendered: Rendered | TemplateError) -> str | None:
    return rendered.text if isinstance(rendered, Rendered) else None
