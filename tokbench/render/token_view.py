"""One segmentation as lines of cells: a cell a token, wrapped between tokens, its text made visible.

With a palette, tokens are told apart by their backgrounds; without one by a separator. A character
that tokens cut is underlined from end to end, and its boundaries are `╎` instead of `│`. Text that no
token covers stands without a background, or in `⟦⟧`. Everything streams, in time linear in the text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment

from tokbench.render.glyphs import Glyph, Strip, strip
from tokbench.render.palette import FAINT
from tokbench.render.visible_tokens import enclosed, visible_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.core.tokens import Segmentation
    from tokbench.render.palette import Look, Palette
    from tokbench.render.visible_tokens import VisibleToken

MIN_WIDTH = 20
"""The narrowest view: it holds the widest name, and an id of 32 bits."""


class Separators(NamedTuple):
    """What stands between tokens where colour does not tell them apart."""

    whole: str
    cut: str


SEPARATORS = (Separators("│", "╎"), Separators("┃", "╏"), Separators("║", "┊"), Separators("❘", "❙"))
"""The first pair that does not occur in the text is taken; the last one where all do."""


class Row(NamedTuple):
    """One terminal line and its columns."""

    segments: tuple[Segment, ...]
    width: int


class Line(NamedTuple):
    """One line of the view: its tokens and, beneath, their ids where those are asked for."""

    rows: tuple[Row, ...]
    ends_text_line: bool = False


@dataclass(frozen=True, slots=True)
class _Cell:
    """A token, or text that no token covers, before it is laid out."""

    strip: Strip
    look: Look | None
    label: str
    separator: str


class _Block(NamedTuple):
    """A cell, or the part of one, that stands on one line."""

    strip: Strip
    look: Look | None
    label: str
    separator: str
    width: int
    room: int


def token_lines(
    segmentation: Segmentation, *, width: int, palette: Palette | None = None, ids: bool = False
) -> Iterator[Line]:
    """The lines of a segmentation, one after another.

    Args:
        segmentation: what to show; its spans may be empty, overlap or leave gaps.
        width: columns that no line exceeds; taken as `MIN_WIDTH` where it is less.
        palette: the colours; None for separators instead.
        ids: whether each token's id stands beneath it.

    >>> from tokbench.core.tokens import Segmentation, Span, Token, TokenKind
    >>> hi, x = Token(7, b"Hi", Span(0, 2), TokenKind.NORMAL), Token(8, b" x", Span(2, 4), TokenKind.NORMAL)
    >>> [plain(line) for line in token_lines(Segmentation("Hi x", (hi, x)), width=40)]
    ['Hi│·x']
    """
    columns = max(width, MIN_WIDTH)
    line: list[_Block] = []
    used = 0
    for cell in _cells(segmentation, palette=palette, ids=ids):
        for block in _blocks(cell, columns=columns):
            if line and used + block.room > columns:
                yield _line(line, ids=ids)
                line, used = [], 0
            line.append(block)
            used += block.room
            if block.strip.ends_line:
                yield _line(line, ids=ids, ends_text_line=True)
                line, used = [], 0
    if line:
        yield _line(line, ids=ids)


def plain(line: Line) -> str:
    """The text of a line without its styles, rows under one another."""
    return "\n".join("".join(segment.text for segment in row.segments) for row in line.rows)


def separators_for(text: str) -> Separators:
    """The separators that a text does not hold itself.

    >>> separators_for("a │ b")
    Separators(whole='┃', cut='╏')
    """
    return next(
        (pair for pair in SEPARATORS if not any(separator in text for separator in pair)), SEPARATORS[-1]
    )


# --- tokens to cells --------------------------------------------------------------------------


def _cells(segmentation: Segmentation, *, palette: Palette | None, ids: bool) -> Iterator[_Cell]:
    """The cells in reading order; the last one has no separator."""
    separators = None if palette else separators_for(segmentation.text)
    held: _Cell | None = None
    for each in visible_tokens(segmentation):
        if held is not None:
            yield held
        held = _cell(each, palette=palette, separators=separators, ids=ids)
    if held is not None:
        yield replace(held, separator="")


def _cell(each: VisibleToken, *, palette: Palette | None, separators: Separators | None, ids: bool) -> _Cell:
    separator = ""
    if separators is not None:
        separator = separators.cut if each.cuts_behind else separators.whole
    if each.token is None:
        looks = each.strip if palette else enclosed("⟦", each.strip.glyphs, "⟧")
        return _Cell(looks, palette.uncovered if palette else None, "", separator)
    look = palette.look(each.token.kind, turn=each.turn, absent=not each.covers_text) if palette else None
    return _Cell(each.strip, look, str(each.token.id) if ids else "", separator)


# --- cells to lines ---------------------------------------------------------------------------


def _blocks(cell: _Cell, *, columns: int) -> Iterator[_Block]:
    """The cell in blocks that fit a line each: one, but for wide tokens and line ends inside a token."""
    has_separators = cell.look is None
    label = cell.label
    if label and not has_separators:
        label += " "  # keeps ids apart
    *parts, last = _broken(cell.strip, columns=columns - has_separators)
    for part in parts:
        yield _block(part, cell.look, label=label, separator="")
        label = ""
    yield _block(last, cell.look, label=label, separator=cell.separator)


def _broken(whole: Strip, *, columns: int) -> Iterator[Strip]:
    """A strip broken between glyphs, behind line ends and where the columns are used up."""
    if whole.room <= columns and not whole.breaks_inside:
        yield whole
        return
    glyphs: list[Glyph] = []
    used = 0
    for glyph in whole.glyphs:
        if glyphs and (glyphs[-1].ends_line or used + glyph.room > columns):
            yield strip(glyphs)
            glyphs, used = [], 0
        glyphs.append(glyph)
        used += glyph.room
    yield strip(glyphs)


def _block(part: Strip, look: Look | None, *, label: str, separator: str) -> _Block:
    width = max(part.width, len(label))
    room = max(part.room, width) + len(separator)
    return _Block(part, look, label, separator, width, room)


def _line(blocks: list[_Block], *, ids: bool, ends_text_line: bool = False) -> Line:
    rows = [_text_row(blocks)]
    if ids:
        rows.append(_label_row(blocks))
    return Line(rows=tuple(rows), ends_text_line=ends_text_line)


def _text_row(blocks: list[_Block]) -> Row:
    segments: list[Segment] = []
    width = 0
    for block in blocks:
        look = block.look
        for run in block.strip.runs:
            style = look.style(stand_in=run.stand_in, cut=run.cut) if look else None
            segments.append(Segment(run.text, style))
        if padding := block.width - block.strip.width:
            segments.append(Segment(" " * padding, look.text if look else None))
        if block.separator:
            segments.append(Segment(block.separator))
        width += block.width + len(block.separator)
    return Row(segments=tuple(segments), width=width)


def _label_row(blocks: list[_Block]) -> Row:
    segments: list[Segment] = []
    width = 0
    for block in blocks:
        segments.append(Segment(block.label.ljust(block.width), FAINT))
        if block.separator:
            segments.append(Segment(block.separator))
        width += block.width + len(block.separator)
    return Row(segments=tuple(segments), width=width)
