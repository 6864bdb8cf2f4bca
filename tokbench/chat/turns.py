"""Find the turns of speakers if a template does not mark them.

There are two methods; the more reliable one is tried first. If a template never rewrites earlier messages, then the
messages before a turn, rendered with the generation prompt, are a prefix of the whole text, and the turn is the text
from there to the beginning of the next message. If that does not hold, origins are used: the turn begins after the
generation prompt's text, and ends with the first special token after the last character of the message, or before it
if that begins the next message, as `<|user|>` does, or with the one behind it if that closes a call, as `</tool_call>`
does. In a long conversation, most turns follow from similar ones (`similar_turns`), and in conversations of the same
form, all follow from those of an example (`example_turns`).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tokbench.chat.contents import Contents, SpecialTokens
from tokbench.chat.conversation import RendersBeginnings
from tokbench.chat.example_turns import ExampleTurns
from tokbench.chat.owners import with_owners
from tokbench.chat.rendered import Rendered, Turn
from tokbench.chat.similar_turns import found_by_similarity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.chat.conversation import Conversation, Renderer
    from tokbench.chat.similar_turns import Found, Place

SPOKEN = frozenset({"assistant", "model"})
"""The roles that follow the generation prompt."""


@dataclass(frozen=True)
class TurnFinder:
    """Adds turns to rendered texts whose renderer does not mark them, and remembers forms of conversations.

    Attributes:
        renderer: the renderer of the texts.
        special_tokens: special tokens of the tokenizer; a turn ends with one of them.
        bos: the token that begins a text, which belongs to no message.
    """

    renderer: Renderer
    _: KW_ONLY
    special_tokens: frozenset[str] = frozenset()
    bos: str | None = None

    @cached_property
    def _specials(self) -> SpecialTokens:
        return SpecialTokens(self.special_tokens)

    @cached_property
    def _examples(self) -> ExampleTurns:
        return ExampleTurns(self.renderer)

    def with_turns(
        self, conversations: Sequence[Conversation], rendered: Sequence[Rendered]
    ) -> list[Rendered]:
        """Return rendered texts with turns, and with owners of the template's text.

        Args:
            conversations: the renderer's inputs.
            rendered: its output for each conversation.

        Raises:
            TemplateError: as `Renderer.render`.
        """
        results = list(rendered)
        unmarked = [number for number, text in enumerate(rendered) if not text.turns and text.runs]
        if not unmarked:
            return results
        applied = self._examples.applied(
            [conversations[number] for number in unmarked],
            [rendered[number] for number in unmarked],
            self._searched,
        )
        found = {number: text for number, text in zip(unmarked, applied, strict=True) if text is not None}
        others = [number for number in unmarked if number not in found]
        searched = self._searched(
            [conversations[number] for number in others], [rendered[number] for number in others]
        )
        for number, text in (found | dict(zip(others, searched, strict=True))).items():
            results[number] = text
        return results

    def _searched(
        self, conversations: Sequence[Conversation], rendered: Sequence[Rendered]
    ) -> list[Rendered]:
        spoken = [
            (number, message)
            for number, conversation in enumerate(conversations)
            for message, said in enumerate(conversation.messages)
            if said.get("role") in SPOKEN
        ]
        contents = dict(enumerate(map(Contents, rendered)))
        search = _Search(self.renderer, conversations, rendered, contents, self._specials)
        found = found_by_similarity(spoken, search.places, conversations=conversations, contents=contents)
        results: list[Rendered] = []
        for number, conversation in enumerate(conversations):
            places = [
                found[number, message]
                if (number, message) in found
                else _by_origin(contents[number], message, "", self._specials)
                for message in range(len(conversation.messages))
            ]
            with_places = replace(rendered[number], turns=_turns(places))
            results.append(with_owners(with_places, self._specials, bos=self.bos))
        return results


@dataclass(frozen=True)
class _Search:
    """Finds turns that follow the generation prompt, given the numbers of conversations and messages."""

    renderer: Renderer
    conversations: Sequence[Conversation]
    rendered: Sequence[Rendered]
    contents: Mapping[int, Contents]
    specials: SpecialTokens

    def places(self, spoken: Sequence[Place]) -> dict[Place, Found]:
        """Return start and stop of each turn."""
        prompts = dict(zip(spoken, self._beginnings(spoken, prompt=True), strict=True))
        turns = self._turns(spoken)
        found = {
            place: _by_prefix(self.contents[place[0]], prompt, turns[place])
            for place, prompt in prompts.items()
        }
        others = [place for place in spoken if found[place] is None]
        for place, plain in zip(others, self._beginnings(others), strict=True):
            number, message = place
            header = _header(prompts[place], plain)
            found[place] = _by_origin(self.contents[number], message, header, self.specials)
        return found

    def _turns(self, spoken: Sequence[Place]) -> dict[Place, str | None]:
        """Return the text of the messages up to and including each turn."""
        turns: dict[Place, str | None] = {
            place: self.rendered[place[0]].text for place in spoken if self._is_whole_text(*place)
        }
        parts = [place for place in spoken if place not in turns]
        following = self._beginnings([(number, message + 1) for number, message in parts])
        return {**turns, **dict(zip(parts, following, strict=True))}

    def _is_whole_text(self, number: int, message: int) -> bool:
        """Whether the messages up to this one have been rendered by Jinja, as nothing longer or shorter."""
        conversation = self.conversations[number]
        return (
            isinstance(self.renderer, RendersBeginnings)
            and message == len(conversation.messages) - 1
            and not (self.rendered[number].ends_with_prompt or conversation.is_unfinished)
        )

    def _beginnings(self, places: Sequence[Place], *, prompt: bool = False) -> list[str | None]:
        """Return the text of the messages before each place; None if it is refused."""
        if isinstance(self.renderer, RendersBeginnings):
            return self.renderer.render_beginnings(
                [(self.conversations[number], count) for number, count in places], prompt=prompt
            )
        parts = [
            replace(self.conversations[number], messages=self.conversations[number].messages[:count])
            for number, count in places
        ]
        return [
            made.text if isinstance(made, Rendered) else None
            for made in self.renderer.render(parts, prompt=prompt)
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
    inside = "\n".join(contents.text[low:high] for low, high in contents.gaps_before(last, start))
    for gap, stop in contents.gaps_after(message):
        end = specials.first_end(contents.text[gap:stop], inside=inside, header=header)
        if end is not None:
            return start, gap + end
    return start, last
