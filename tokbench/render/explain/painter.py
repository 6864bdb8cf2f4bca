"""Rendering of tokens side by side, and of short texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from tokbench.core.tokens import TokenKind
from tokbench.render.glyphs import glyphs_of, text_of
from tokbench.render.palette import FAINT
from tokbench.render.terminal import Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.explain.symbols import Symbol
    from tokbench.render.palette import Palette

_SEPARATOR = "│"
LABEL = 11
"""Columns of the labels on the left."""


class Painter:
    """Renders tokens side by side: with backgrounds, or with separators if there is no colour."""

    def __init__(self, palette: Palette | None, width: int) -> None:
        self.palette = palette
        self.width = width

    def cells(
        self, tokens: Sequence[bytes], *, room: int | None = None, focus: int = 0, first: int = 0
    ) -> Text:
        """Return tokens in one row; with `room`, only those around the focus that fit."""
        shown = [text_of(glyphs_of(token)) or "⟨empty⟩" for token in tokens]
        start, stop = (0, len(shown)) if room is None else self._window(shown, room, focus)
        drawn = Text().append("…" if start else "", FAINT)
        for number in range(start, stop):
            if self.palette is None:
                drawn.append(_SEPARATOR if number > start else "")
                drawn.append(shown[number])
            else:
                look = self.palette.look(TokenKind.NORMAL, turn=first + number)
                drawn.append(shown[number], look.text)
        drawn.append("…" if stop < len(shown) else "", FAINT)
        return drawn

    def _window(self, shown: Sequence[str], room: int, focus: int) -> tuple[int, int]:
        between = 1 if self.palette is None else 0
        if not shown:
            return 0, 0
        start, stop = focus, focus + 1
        used = cell_len(shown[focus]) + 2
        while True:
            right = used + between + cell_len(shown[stop]) if stop < len(shown) else None
            left = used + between + cell_len(shown[start - 1]) if start else None
            if right is not None and right <= room:
                used, stop = right, stop + 1
            elif left is not None and left <= room:
                used, start = left, start - 1
            else:
                return start, stop


def labelled(label: str, text: Text) -> Line:
    """Return a line with a label on its left."""
    return Line(Text.assemble((f"{label:<{LABEL}}", FAINT), text), label=LABEL)


def shortened(text: str) -> str:
    """Return a text as it is displayed, truncated if it is long."""
    shown = text_of(glyphs_of(text.encode()))
    return shown if len(shown) <= 200 else shown[:199] + "…"


def symbol_text(symbol: Symbol) -> str:
    """Return the displayed text of a symbol."""
    return text_of(glyphs_of(symbol.data))
