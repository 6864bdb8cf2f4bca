"""Why a token of a text is where it is, worked out on the text round it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.errors import ConfigError
from tokbench.render.explain.painter import Painter
from tokbench.render.explain.traces import step_frames
from tokbench.render.terminal import folded_to
from tokbench.workbench.explain import explain_text

if TYPE_CHECKING:
    from rich.text import Text

    from tokbench.core.tokens import SpecialPolicy
    from tokbench.explain.causes import Cause
    from tokbench.explain.derivation import ExplainedStep
    from tokbench.play.columns import Column
    from tokbench.render.palette import Palette
    from tokbench.workbench.explain import ExplainResult

REACHES = (400, 4_000, 40_000)
"""Bytes on each side of a token that are explained: of a longer text the first of them that give the same tokens."""


@dataclass(frozen=True, slots=True)
class ExplainedToken:
    """A token with the pre-token that it is in.

    Attributes:
        step: the pre-token, and what the algorithm did with it.
        before: why there is a boundary before the token; None at the beginning of the text.
        after: why there is one after it; None at the end.
        result: the explanation of the text round it.
    """

    step: ExplainedStep
    before: Cause | None
    after: Cause | None
    result: ExplainResult


def explain_token(column: Column, index: int, *, special: SpecialPolicy) -> ExplainedToken:
    """Why a token is where it is.

    Args:
        column: the tokens of the text.
        index: the position of the token.
        special: what the text of a special token becomes.

    Raises:
        ConfigError: the tokenizer does not tell how it works, or all that may be explained gives other tokens.
    """
    size = len(column.data)
    start, stop = int(column.starts[index]), int(column.stops[index])
    for reach in REACHES:
        first, last = max(start - reach, 0), min(stop + reach, size)
        found = _explained(column, index, _whole(column.data, first), _whole(column.data, last), special)
        if found is not None:
            return found
        if first == 0 and last == size:
            break
    raise ConfigError(
        "the text around this token has other tokens by itself",
        hint="shorten the text: 40,000 bytes on each side are explained",
    )


def _explained(
    column: Column, index: int, first: int, last: int, special: SpecialPolicy
) -> ExplainedToken | None:
    """The explanation of a part of the text, where the token and its neighbours are the same in it."""
    result = explain_text(
        column.source.tokenizer, column.data[first:last].decode(errors="replace"), special=special
    )
    tokens = [(token.id, token.span.start + first) for token in result.explanation.tokens]
    wanted = (int(column.ids[index]), int(column.starts[index]))
    if wanted not in tokens:
        return None
    place = tokens.index(wanted)
    for beside in (-1, 1):
        there = index + beside
        is_inside = 0 <= place + beside < len(tokens)
        expected = (int(column.ids[there]), int(column.starts[there])) if 0 <= there < len(column) else None
        if (tokens[place + beside] if is_inside else None) != expected:
            return None
    return ExplainedToken(
        result.explanation.step_of(place),
        result.boundary(place).cause if place else None,
        result.boundary(place + 1).cause if place + 1 < len(tokens) else None,
        result,
    )


def _whole(data: bytes, offset: int) -> int:
    """The nearest beginning of a character that is not after an offset."""
    while 0 < offset < len(data) and data[offset] & 0xC0 == 0x80:
        offset -= 1
    return offset


def frames_of(explained: ExplainedToken, *, palette: Palette | None, width: int) -> list[list[Text]]:
    """The frames of a pre-token: the pre-token, each step, then the cause of each boundary in it.

    Args:
        explained: a token of it.
        palette: the colours; None for separators instead.
        width: columns that no row exceeds.
    """
    painter = Painter(palette, width)
    number = explained.result.explanation.steps.index(explained.step) + 1
    frames = step_frames(explained.step, painter, number=number, again=number)
    rows = ([row for line in frame for row in folded_to(line, width)] for frame in frames)
    return [[row for row in frame if row.plain.strip()] for frame in rows]
