"""Styles of tokens: the colours of `viz`, yellow for the selected token, and grey for tokens that all columns share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.color import Color
from rich.style import Style

from tokbench.core.tokens import TokenKind
from tokbench.render.token_view import SIXTEEN, palette_for

if TYPE_CHECKING:
    from rich.console import Console

    from tokbench.play.token_rows import Cell
    from tokbench.render.glyphs import Glyph
    from tokbench.render.token_view import Palette

_CUT = Style(underline=True)
_NO_COLOUR_DIFFERS = Style(bold=True)


def _colours(text: int, ground: int, *, bold: bool = False) -> Style:
    return Style(color=Color.from_ansi(text), bgcolor=Color.from_ansi(ground), bold=bold)


@dataclass(frozen=True, slots=True)
class Looks:
    """The styles of tokens.

    Attributes:
        palette: the palette of `viz`; None without colours.
        shared: two alternating styles of tokens that all columns have.
        selected: the style of the selected token.
    """

    palette: Palette | None
    shared: tuple[Style, Style]
    selected: Style

    def of(self, cell: Cell, glyph: Glyph, *, is_selected: bool, is_shared: bool) -> Style:
        """Return the style of a glyph of a token.

        Args:
            cell: the token.
            glyph: the glyph.
            is_selected: whether the token is selected.
            is_shared: whether there are other columns and all have a token with its span.
        """
        if is_selected:
            return self.selected + _CUT if glyph.cut else self.selected
        if self.palette is None:
            return _NO_COLOUR_DIFFERS if not is_shared and cell.token is not None else Style()
        if cell.token is None:
            return self.palette.uncovered.text
        if is_shared and cell.kind is not TokenKind.SPECIAL:
            style = self.shared[cell.token % 2]
            return style + _CUT if glyph.cut else style
        look = self.palette.look(cell.kind, turn=cell.token, absent=not cell.covers_text)
        return look.style(stand_in=glyph.stand_in, cut=glyph.cut)


def looks_for(console: Console, *, dark: bool) -> Looks:
    """Return the styles that a terminal can show.

    Args:
        console: determines the number of colours.
        dark: whether the background is dark.
    """
    palette = palette_for(console)
    if palette is None:
        return Looks(None, (Style(), Style()), Style(reverse=True))
    if palette is SIXTEEN:
        shared = (_colours(15, 8), _colours(7, 0)) if dark else (_colours(0, 7), _colours(0, 15))
        return Looks(palette, shared, _colours(0, 11, bold=True))
    shared = (_colours(252, 238), _colours(252, 241)) if dark else (_colours(16, 252), _colours(16, 249))
    return Looks(palette, shared, _colours(16, 226, bold=True))
