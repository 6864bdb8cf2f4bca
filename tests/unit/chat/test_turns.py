"""Turns that are inferred equal those that built-in templates tell, whatever the way to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from support.conversations import conversations, plain_texts
from support.rendering import said

from tokbench.chat.conversation import Conversation
from tokbench.chat.formats import named
from tokbench.chat.rendered import TEMPLATE, Rendered
from tokbench.chat.turns import _with_owners, with_turns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.errors import TemplateError


@dataclass
class Silent:
    """A built-in template that does not tell turns, and may write something at the front that later turns change."""

    format: str
    counts: bool = False
    name: str = "silent"

    def render(
        self, conversations: Sequence[Conversation], *, prompt: bool = False
    ) -> list[Rendered | TemplateError]:
        made = named(self.format).render(conversations, prompt=prompt)
        return [self._changed(each, len(c.messages)) for each, c in zip(made, conversations, strict=True)]

    def _changed(self, rendered: Rendered | TemplateError, count: int) -> Rendered | TemplateError:
        if not isinstance(rendered, Rendered):
            return rendered
        parts = [(rendered.text[a:b], origin) for a, b, origin in rendered.runs]
        front = [(f"{count} messages\n", parts[0][1])] if self.counts else []
        return Rendered.of([*front, *parts])


def inferred(conversation: Conversation, format: str, *, counts: bool = False) -> Rendered:
    renderer = Silent(format, counts=counts)
    [rendered] = renderer.render([conversation])
    assert isinstance(rendered, Rendered)
    [found] = with_turns(renderer, [conversation], [rendered], special_tokens=named(format).control_tokens)
    return found


def spoken(rendered: Rendered, conversation: Conversation) -> list[tuple[int, str]]:
    roles = [message["role"] for message in conversation.messages]
    return [(m, rendered.text[a:b]) for m, a, b in rendered.turns if roles[m] == "assistant"]


TALK = Conversation(
    tuple(said(("system", "S"), ("user", "Q"), ("assistant", "A b"), ("user", "R"), ("assistant", "C")))
)


@given(conversation=conversations(plain_texts), format=st.sampled_from(["chatml", "llama3", "gemma"]))
def test_what_the_assistant_says_is_found_by_prefixes(conversation: Conversation, format: str) -> None:
    [told] = named(format).render([conversation])
    if isinstance(told, Rendered):
        assert spoken(inferred(conversation, format), conversation) == spoken(told, conversation)


def test_what_the_assistant_says_is_found_by_origins() -> None:
    for format in ("chatml", "llama3", "gemma"):
        [told] = named(format).render([TALK])
        assert isinstance(told, Rendered)
        assert spoken(inferred(TALK, format, counts=True), TALK) == spoken(told, TALK)


def test_turns_that_are_told_are_left_alone() -> None:
    renderer = named("chatml")
    [told] = renderer.render([TALK])
    assert isinstance(told, Rendered)
    odd = replace(told, turns=told.turns[:1])
    assert with_turns(renderer, [TALK], [odd]) == [odd]


def test_users_have_turns_too() -> None:
    found = inferred(TALK, "chatml")
    assert [(m, found.text[a:b]) for m, a, b in found.turns][1] == (1, "Q<|im_end|>")


@given(conversation=conversations(plain_texts), format=st.sampled_from(["chatml", "llama3", "gemma"]))
def test_what_stands_between_messages_belongs_to_one_of_them(conversation: Conversation, format: str) -> None:
    """As the built-in templates tell it, but for the header of the first message."""
    [told] = named(format).render([conversation])
    if not isinstance(told, Rendered):
        return
    without = Rendered.of(
        (told.text[a:b], origin if origin.field is not None else TEMPLATE) for a, b, origin in told.runs
    )
    found = _with_owners(replace(without, turns=told.turns))
    first = next(run.start for run in without.runs if run.origin.field is not None)
    owners = [
        [run.origin.message for run in each.runs for _ in range(run.start, run.stop)][first:]
        for each in (told, found)
    ]
    assert owners[1] == owners[0]
    assert [run.origin.field for run in found.runs if run.origin.field] == [
        run.origin.field for run in told.runs if run.origin.field
    ]
