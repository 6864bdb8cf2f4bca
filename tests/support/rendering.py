"""Conversations rendered one at a time, and their results in a readable form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.chat.conversation import Conversation
from tokbench.chat.formats import named
from tokbench.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Collection

    from tokbench.chat.rendered import Rendered


def said(*turns: tuple[str, Any]) -> list[dict[str, Any]]:
    """Build messages from roles and contents."""
    return [{"role": role, "content": content} for role, content in turns]


def write(
    format: str, messages: list[dict[str, Any]], *, tools: Any = (), prompt: bool = False, **variables: Any
) -> Rendered:
    """Render a conversation in a built-in format, which must accept it."""
    rendered = named(format).render(
        [Conversation(tuple(messages), tuple(tools), (), variables)], prompt=prompt
    )[0]
    if isinstance(rendered, TemplateError):
        raise rendered
    return rendered


def contents(rendered: Rendered) -> list[tuple[int | None, str | None, str]]:
    """Return the message, field and text of each run that does not come from the template."""
    return [
        (run.origin.message, run.origin.field, rendered.text[run.start : run.stop])
        for run in rendered.runs
        if not run.origin.is_template
    ]


def turns(rendered: Rendered) -> list[tuple[int, str]]:
    """Return the message index and text of each turn."""
    return [(turn.message, rendered.text[turn.start : turn.stop]) for turn in rendered.turns]


class Piece(NamedTuple):
    """A control token, or the text between two control tokens."""

    text: str
    is_control: bool
    start: int


def pieces(rendered: Rendered, tokens: Collection[str]) -> list[Piece]:
    """Split a rendered conversation at the control tokens whose every character comes from the template."""
    own = [False] * len(rendered.text)
    for start, stop, origin in rendered.runs:
        own[start:stop] = [origin.is_template] * (stop - start)
    parts: list[Piece] = []
    begin = 0
    for match in re.finditer("|".join(map(re.escape, sorted(tokens, key=len, reverse=True))), rendered.text):
        if all(own[match.start() : match.end()]):
            parts.append(Piece(rendered.text[begin : match.start()], is_control=False, start=begin))
            parts.append(Piece(match[0], is_control=True, start=match.start()))
            begin = match.end()
    parts.append(Piece(rendered.text[begin:], is_control=False, start=begin))
    return [piece for piece in parts if piece.text]
