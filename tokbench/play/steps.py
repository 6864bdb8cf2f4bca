"""What an algorithm did with the pre-token of the selected token, in frames that are shown one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.render.explain.painter import Painter
from tokbench.render.explain.traces import step_frames
from tokbench.render.terminal import folded_to

if TYPE_CHECKING:
    from rich.text import Text

    from tokbench.play.surroundings import ExplainedToken
    from tokbench.render.palette import Palette


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
