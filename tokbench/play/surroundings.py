"""Explain why a token of a text is where it is, using only the text around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.errors import ConfigError
from tokbench.render.explain_traces import Painter, step_frames
from tokbench.render.terminal import folded_to
from tokbench.workbench.explain import explain_text

if TYPE_CHECKING:
    from rich.text import Text

    from tokbench.core.tokens import SpecialPolicy
    from tokbench.explain.causes import Cause
    from tokbench.explain.derivation import ExplainedStep
    from tokbench.play.columns import Column
    from tokbench.render.token_view import Palette
    from tokbench.workbench.explain import ExplainResult

REACHES = (400, 4_000, 40_000)
"""Bytes to explain on each side of a token: of a longer text, the smallest of these that gives the same tokens."""


@dataclass(frozen=True, slots=True)
class ExplainedToken:
    """A token with its pre-token.

    Attributes:
        step: the pre-token, with its trace.
        before: the cause of the boundary before the token; None at the beginning of the text.
        after: the cause of the boundary after it; None at the end.
        result: the explanation of the text around it.
    """

    step: ExplainedStep
    before: Cause | None
    after: Cause | None
    result: ExplainResult


def explain_token(column: Column, index: int, *, special: SpecialPolicy) -> ExplainedToken:
    """Explain why a token is where it is.

    Args:
        column: the tokens of the text.
        index: index of the token.
        special: what the text of a special token becomes.

    Raises:
        ConfigError: the tokenizer cannot explain itself, or no allowed part of the text gives the same tokens.
    """
    size = len(column.data)
    start, stop = int(column.starts[index]), int(column.stops[index])
    for reach in REACHES:
        first, last = max(start - reach, 0), min(stop + reach, size)
        found = _explain_part(
            column, index, _character_start(column.data, first), _character_start(column.data, last), special
        )
        if found is not None:
            return found
        if first == 0 and last == size:
            break
    raise ConfigError(
        "the text around this token has different tokens when it is encoded alone",
        hint="shorten the text: up to 40,000 bytes on each side are explained",
    )


def _explain_part(
    column: Column, index: int, first: int, last: int, special: SpecialPolicy
) -> ExplainedToken | None:
    """Explain a part of the text; None if the token or its neighbours differ in it."""
    result = explain_text(
        column.source.tokenizer, column.data[first:last].decode(errors="replace"), special=special
    )
    tokens = [(token.id, token.span.start + first) for token in result.explanation.tokens]
    wanted = (int(column.ids[index]), int(column.starts[index]))
    if wanted not in tokens:
        return None
    place = tokens.index(wanted)
    for beside in (-1, 1):
        neighbour = index + beside
        is_inside = 0 <= place + beside < len(tokens)
        expected = (
            (int(column.ids[neighbour]), int(column.starts[neighbour]))
            if 0 <= neighbour < len(column)
            else None
        )
        if (tokens[place + beside] if is_inside else None) != expected:
            return None
    return ExplainedToken(
        result.explanation.step_of(place),
        result.boundary(place).cause if place else None,
        result.boundary(place + 1).cause if place + 1 < len(tokens) else None,
        result,
    )


def _character_start(data: bytes, offset: int) -> int:
    """Return the nearest beginning of a character at or before an offset."""
    while 0 < offset < len(data) and data[offset] & 0xC0 == 0x80:
        offset -= 1
    return offset


def frames_of(explained: ExplainedToken, *, palette: Palette | None, width: int) -> list[list[Text]]:
    """Return the frames of a pre-token: the pre-token, each step, then the cause of each boundary in it.

    Args:
        explained: a token of the pre-token.
        palette: the colours; None uses separators instead.
        width: maximum columns of a row.
    """
    painter = Painter(palette, width)
    number = explained.result.explanation.steps.index(explained.step) + 1
    frames = step_frames(explained.step, painter, number=number, again=number)
    rows = ([row for line in frame for row in folded_to(line, width)] for frame in frames)
    return [[row for row in frame if row.plain.strip()] for frame in rows]
