"""The tokens of a column in rows of a given width, computed only around the visible part, and their styles.

Tokens are laid out in blocks (`blocks`), each independently and beginning a row. So any of a million tokens is found
by laying out only a few hundred around it. Colours are those of `viz`, with yellow for the selected token and grey for
tokens that all columns share.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rich.color import Color
from rich.style import Style

from tokbench.core.tokens import Segmentation, TokenKind
from tokbench.render.token_view import SIXTEEN, palette_for, separators_for
from tokbench.render.visible_tokens import visible_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from tokbench.play.columns import Column
    from tokbench.render.glyphs import Glyph
    from tokbench.render.token_view import Palette

_BLOCKS_KEPT = 64


class Cell(NamedTuple):
    """A token, or the part of one that is on a row; or text that no token covers.

    Attributes:
        token: its index in the column; None for text that no token covers.
        kind: its kind.
        covers_text: whether it covers some of the text.
        glyphs: its glyphs.
        separator: the separator after it, if there are no colours.
    """

    token: int | None
    kind: TokenKind
    covers_text: bool
    glyphs: tuple[Glyph, ...]
    separator: str

    @property
    def width(self) -> int:
        """Its width in columns."""
        return sum(glyph.width for glyph in self.glyphs) + len(self.separator)


class Place(NamedTuple):
    """The position of a row: its block, and its index within the block."""

    block: int
    row: int


TokenRow = tuple[Cell, ...]


class TokenLayout:
    """The rows of a column.

    Args:
        column: the tokens.
        width: columns of a row.
        has_separators: whether separators stand between tokens, instead of colours.
    """

    def __init__(self, column: Column, *, width: int, has_separators: bool) -> None:
        self.column = column
        self._width = width
        self._has_separators = has_separators
        self._edges = column.blocks
        self.rows = lru_cache(maxsize=_BLOCKS_KEPT)(self._rows)

    @property
    def blocks(self) -> int:
        """Number of blocks, at least one."""
        return len(self._edges) - 1

    def place_of(self, token: int) -> Place:
        """Return the position of the row in which a token begins."""
        block = min(max(bisect_right(self._edges, token) - 1, 0), self.blocks - 1)
        for number, row in enumerate(self.rows(block)):
            if any(cell.token == token for cell in row):
                return Place(block, number)
        return Place(block, 0)

    def row(self, place: Place) -> TokenRow:
        """Return the cells of a row."""
        return self.rows(place.block)[place.row]

    def moved(self, place: Place, rows: int) -> Place:
        """Return the position this many rows below, or above if negative, limited to the first and the last row."""
        block, row = place.block, place.row + rows
        while row < 0 and block > 0:
            block -= 1
            row += len(self.rows(block))
        while row >= len(self.rows(block)) and block < self.blocks - 1:
            row -= len(self.rows(block))
            block += 1
        return Place(block, min(max(row, 0), len(self.rows(block)) - 1))

    def _rows(self, block: int) -> list[TokenRow]:
        return list(_in_rows(self._cells(block), self._width)) or [()]

    def _cells(self, block: int) -> Iterator[Cell]:
        column = self.column
        first, last = self._edges[block], self._edges[block + 1]
        if first == last:
            return
        origin = 0 if first == 0 else int(column.starts[first])
        stop = len(column.data) if last == len(column) else int(column.starts[last])
        text = column.data[origin:stop].decode(errors="replace")
        tokens = tuple(column.token(index, origin=origin) for index in range(first, last))
        separators = separators_for(text) if self._has_separators else None
        for shown in visible_tokens(Segmentation(text, tokens)):
            between = ""
            if separators is not None:
                between = separators.cut if shown.cuts_after else separators.whole
            kind = TokenKind.NORMAL if shown.token is None else shown.token.kind
            token = None if shown.token is None else first + shown.turn
            yield Cell(token, kind, shown.covers_text, shown.strip.glyphs, between)


def _in_rows(cells: Iterator[Cell], width: int) -> Iterator[TokenRow]:
    row: list[Cell] = []
    used = 0
    for cell in cells:
        for part in _parts(cell, width):
            if row and used + _room(part) > width:
                yield tuple(row)
                row, used = [], 0
            row.append(part)
            used += _room(part)
            if part.glyphs and part.glyphs[-1].ends_line:
                yield tuple(row)
                row, used = [], 0
    if row:
        yield tuple(row)


def _parts(cell: Cell, width: int) -> Iterator[Cell]:
    """Split a cell into parts that fit on a row, also after line ends."""
    if _room(cell) <= width and not any(glyph.ends_line for glyph in cell.glyphs[:-1]):
        yield cell
        return
    glyphs: list[Glyph] = []
    used = 0
    for glyph in cell.glyphs:
        if glyphs and (glyphs[-1].ends_line or used + glyph.room >= width):
            yield cell._replace(glyphs=tuple(glyphs), separator="")
            glyphs, used = [], 0
        glyphs.append(glyph)
        used += glyph.room
    yield cell._replace(glyphs=tuple(glyphs))


def _room(cell: Cell) -> int:
    return sum(glyph.room for glyph in cell.glyphs) + len(cell.separator)


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
