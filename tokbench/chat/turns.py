"""Find the turns of speakers if a template does not mark them.

There are two methods; the more reliable one is tried first. If a template never rewrites earlier messages, then the
messages before a turn, rendered with the generation prompt, are a prefix of the whole text, and the turn is the text
from there to the beginning of the next message. If that does not hold, origins are used: the turn begins after the
generation prompt's text, and ends with the first special token after the last character of the message.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.chat.contents import Contents, SpecialTokens
from tokbench.chat.conversation import RendersBeginnings
from tokbench.chat.owners import with_owners
from tokbench.chat.rendered import Rendered, Turn

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

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
    contents = {number: Contents(rendered[number]) for number in unmarked}
    found = {
        (n, message): _by_prefix(contents[n], prompts[n, message], turns[n, message]) for n, message in spoken
    }
    others = [place for place in spoken if found[place] is None]
    plains = dict(zip(others, _beginnings(renderer, conversations, others), strict=True))
    specials = SpecialTokens(special_tokens)
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
        results[number] = with_owners(with_places, specials, bos=bos)
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


def _turns(places: Sequence[tuple[int, int] | None]) -> tuple[Turn, ...]:
    """Return the turns at the places of messages; none overlaps the one before it."""
    turns: list[Turn] = []
    for message, place in enumerate(places):
        if place is not None:
            start = max(place[0], turns[-1].stop if turns else 0)
            if start < place[1]:
                turns.append(Turn(message, start, place[1]))
    return tuple(turns)


def _by_prefix(contents: Contents, prompt: str | None, turn: str | None) -> tuple[int, int] | None:
    """Return start and stop of a turn if the text begins with the prompt and the turn, else None."""
    if prompt is None or turn is None or not contents.text.startswith(turn) or not turn.startswith(prompt):
        return None
    return len(prompt), contents.without_white_space(len(prompt), len(turn))


def _by_origin(
    contents: Contents, message: int, header: str, specials: SpecialTokens
) -> tuple[int, int] | None:
    if message not in contents.extents:
        return None
    first, last = contents.extents[message]
    at = contents.text.rfind(header, contents.stop_before(first), first) if header else -1
    start = first if at < 0 else at + len(header)
    end = specials.first_end(contents.text[last : contents.start_after(last)])
    return start, last if end is None else last + end
