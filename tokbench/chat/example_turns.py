"""Turns of conversations that differ only in the words of their contents: an example of them is searched, once.

Most conversations of a corpus have one of a few forms. The example of a form has a short word in place of each content.
If the template writes the same text around the contents of a conversation as around those of its example, turns and
owners are at the same places. The result depends on the conversation alone, not on those that came before it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tokbench.chat.conversation import REASONING
from tokbench.chat.rendered import Rendered, Runs, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tokbench.chat.conversation import Conversation, Renderer
    from tokbench.chat.rendered import Origin

    Search = Callable[[Sequence[Conversation], Sequence[Rendered]], Sequence[Rendered]]
    """Adds turns and owners to rendered conversations."""

    Place = tuple[int, int]
    """The number of a run, and a distance from its start."""

_WORD = "x"

_CONTENTS = frozenset({"content", *REASONING})

_MARKUP = re.compile(r"<[/|｜]?\w|\[/?[A-Z]")
"""Text such as `</think>` or `[/INST]`, which a template may look for in contents."""

_MOST_FORMS = 1 << 12
"""Maximum number of forms that are remembered."""


class ExampleTurns:
    """The forms of conversations that a renderer has written, with the turns of their examples."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer
        self._forms: dict[tuple[Any, ...], _Form | None] = {}

    def applied(
        self, conversations: Sequence[Conversation], rendered: Sequence[Rendered], search: Search
    ) -> list[Rendered | None]:
        """Return each rendered text with turns and owners; None if those of its example are no answer.

        Args:
            conversations: the conversations.
            rendered: their texts.
            search: finds turns and owners of examples.

        Raises:
            TemplateError: as `Renderer.render`.
        """
        examples = [
            None if text.ends_with_prompt else example_of(conversation)
            for conversation, text in zip(conversations, rendered, strict=True)
        ]
        keys = [None if example is None else _key(example) for example in examples]
        forms = self._forms_of(
            {
                key: example
                for key, example in zip(keys, examples, strict=True)
                if key is not None and example is not None
            },
            search,
        )
        return [
            None if key is None or (form := forms[key]) is None else form.applied(text, conversation)
            for key, text, conversation in zip(keys, rendered, conversations, strict=True)
        ]

    def _forms_of(
        self, examples: Mapping[tuple[Any, ...], Conversation], search: Search
    ) -> Mapping[tuple[Any, ...], _Form | None]:
        known = self._forms
        forms = {key: known[key] for key in examples if key in known}
        new = {key: example for key, example in examples.items() if key not in forms}
        if not new:
            return forms
        written = {
            key: text
            for key, text in zip(new, self._renderer.render(list(new.values())), strict=True)
            if isinstance(text, Rendered)
        }
        found = search([new[key] for key in written], list(written.values()))
        forms |= dict.fromkeys(new) | {
            key: _Form.of(text, complete)
            for (key, text), complete in zip(written.items(), found, strict=True)
        }
        if len(known) + len(new) > _MOST_FORMS:
            known = self._forms = {}
        known.update({key: forms[key] for key in new})
        return forms


@dataclass(frozen=True, slots=True)
class _Form:
    """What the template writes around contents, and where turns and owners are in it.

    Attributes:
        around: the origin of each run, and its text if it is the template's own.
        starts: where the runs with owners start.
        origins: their origins.
        turns: the message of each turn, and where it starts and stops.
    """

    around: tuple[tuple[Origin, str | None], ...]
    starts: tuple[Place, ...]
    origins: tuple[Origin, ...]
    turns: tuple[tuple[int, Place, Place], ...]

    @classmethod
    def of(cls, rendered: Rendered, complete: Rendered) -> _Form | None:
        """Return the form of an example, without and with turns; None if they begin or end inside of content."""
        starts = _places(rendered, complete.runs.starts)
        firsts = _places(rendered, [turn.start for turn in complete.turns])
        lasts = _places(rendered, [turn.stop for turn in complete.turns])
        if starts is None or firsts is None or lasts is None:
            return None
        turns = tuple(zip((turn.message for turn in complete.turns), firsts, lasts, strict=True))
        return cls(_around(rendered), tuple(starts), complete.runs.origins, turns)

    def applied(self, rendered: Rendered, conversation: Conversation) -> Rendered | None:
        """Return a text with turns and owners; None if the template writes something else around its contents."""
        if _around(rendered) != self.around or _is_cut(rendered, conversation):
            return None
        edges = (*rendered.runs.starts, rendered.runs.stop)
        starts = [edges[run] + distance for run, distance in self.starts]
        turns = tuple(
            Turn(message, edges[first] + before, edges[last] + after)
            for message, (first, before), (last, after) in self.turns
        )
        return replace(rendered, runs=Runs(starts, self.origins, rendered.runs.stop), turns=turns)


def example_of(conversation: Conversation) -> Conversation | None:
    r"""Return a conversation with a word in place of each content; None if it has other fields, or markup.

    White space around contents is the same, as templates may strip it.

    >>> from tokbench.chat.conversation import Conversation
    >>> example_of(Conversation(({"role": "user", "content": "How are you?\n"},))).messages
    ({'role': 'user', 'content': 'x\n'},)
    """
    if conversation.is_unfinished:
        return None
    messages = [_example(message) for message in conversation.messages]
    known = tuple(message for message in messages if message is not None)
    return replace(conversation, messages=known) if len(known) == len(messages) else None


def _example(message: Mapping[str, Any]) -> dict[str, Any] | None:
    example: dict[str, Any] = {}
    for name, value in message.items():
        if name in _CONTENTS and isinstance(value, str):
            if _MARKUP.search(value):
                return None
            words = value.strip()
            example[name] = value.replace(words, _WORD, 1) if words else value
        elif value is None or isinstance(value, bool) or (name == "role" and isinstance(value, str)):
            example[name] = value
        else:
            return None
    return example


def _key(example: Conversation) -> tuple[Any, ...]:
    others = (example.tools, example.documents, example.variables)
    return tuple(tuple(said.items()) for said in example.messages), repr(others) if any(others) else ""


def _around(rendered: Rendered) -> tuple[tuple[Origin, str | None], ...]:
    runs, text = rendered.runs, rendered.text
    return tuple(
        (origin, text[start:stop] if origin.field is None else None)
        for start, stop, origin in zip(runs.starts, runs.stops, runs.origins, strict=True)
    )


def _is_cut(rendered: Rendered, conversation: Conversation) -> bool:
    """Whether a content is written in part, as where a template has found reasoning in it."""
    written: dict[Origin, int] = {}
    for start, stop, origin in rendered.runs:
        if origin.message is not None and origin.field in _CONTENTS:
            written[origin] = written.get(origin, 0) + stop - start
    return any(
        size < len(conversation.messages[message][field].strip())
        for (message, field), size in written.items()
        if message is not None and field is not None and field in conversation.messages[message]
    )


def _places(rendered: Rendered, positions: Iterable[int]) -> list[Place] | None:
    """Return positions by runs; None if one is inside of content."""
    edges = [*rendered.runs.starts, rendered.runs.stop]
    places: list[Place] = []
    for position in positions:
        run = bisect_right(edges, position) - 1
        distance = position - edges[run]
        if distance and rendered.runs.origins[run].field is not None:
            return None
        places.append((run, distance))
    return places
