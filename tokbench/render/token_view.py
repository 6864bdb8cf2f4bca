"""A segmentation as lines of cells: one cell per token, wrapped between tokens, with all text made visible.

With a palette, tokens are distinguished by their backgrounds; without one by separators. A character
that tokens cut is underlined as a whole, and its boundaries are `╎` instead of `│`. Text that no
token covers has no background, or is enclosed in `⟦⟧`. Everything streams, in time linear in the text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment

from tokbench.core.graphemes import cut_clusters
from tokbench.core.tokens import TokenKind
from tokbench.render.glyphs import Glyph, Strip, byte_glyphs, cut_glyphs, sign, strip
from tokbench.render.palette import FAINT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokbench.core.tokens import Segmentation, Span, Token
    from tokbench.render.palette import Look, Palette

MIN_WIDTH = 20
"""The minimum width: it holds the longest stand-in name, and a 32-bit id."""
UNKNOWN_MARK = "⟨?⟩"
EMPTY_MARK = "⟨empty⟩"
_LONGEST_KEPT = 64


class Separators(NamedTuple):
    """Separators between tokens, for output without colours."""

    whole: str
    cut: str


SEPARATORS = (Separators("│", "╎"), Separators("┃", "╏"), Separators("║", "┊"), Separators("❘", "❙"))
"""The first pair that does not occur in the text is used, or the last one if all occur."""


class Row(NamedTuple):
    """One terminal line and its width in columns."""

    segments: tuple[Segment, ...]
    width: int


class Line(NamedTuple):
    """One line of the view: its tokens and, if requested, their ids beneath."""

    rows: tuple[Row, ...]
    ends_text_line: bool = False


@dataclass(frozen=True, slots=True)
class _Cell:
    """A token, or text that no token covers, before layout."""

    strip: Strip
    look: Look | None
    label: str
    separator: str


class _Block(NamedTuple):
    """A cell, or a part of one, that fits on one line."""

    strip: Strip
    look: Look | None
    label: str
    separator: str
    width: int
    room: int


def token_lines(
    segmentation: Segmentation, *, width: int, palette: Palette | None = None, ids: bool = False
) -> Iterator[Line]:
    """Yield the lines of a segmentation.

    Args:
        segmentation: the segmentation to show; its spans may be empty, overlap or leave gaps.
        width: maximum line width in columns; at least `MIN_WIDTH`.
        palette: the colours; None uses separators instead.
        ids: whether to show each token's id beneath it.

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
    """Return the text of a line without styles, one row below the other."""
    return "\n".join("".join(segment.text for segment in row.segments) for row in line.rows)


def separators_for(text: str) -> Separators:
    """Return separators that do not occur in the text.

    >>> separators_for("a │ b")
    Separators(whole='┃', cut='╏')
    """
    return next(
        (pair for pair in SEPARATORS if not any(separator in text for separator in pair)), SEPARATORS[-1]
    )


# --- tokens to cells --------------------------------------------------------------------------


def _cells(segmentation: Segmentation, *, palette: Palette | None, ids: bool) -> Iterator[_Cell]:
    """Yield the cells in reading order; the last one has no separator."""
    separators = None if palette else separators_for(segmentation.text)
    previous: _Cell | None = None
    for shown in visible_tokens(segmentation):
        if previous is not None:
            yield previous
        previous = _cell(shown, palette=palette, separators=separators, ids=ids)
    if previous is not None:
        yield replace(previous, separator="")


def _cell(shown: VisibleToken, *, palette: Palette | None, separators: Separators | None, ids: bool) -> _Cell:
    separator = ""
    if separators is not None:
        separator = separators.cut if shown.cuts_after else separators.whole
    if shown.token is None:
        looks = shown.strip if palette else enclosed("⟦", shown.strip.glyphs, "⟧")
        return _Cell(looks, palette.uncovered if palette else None, "", separator)
    look = palette.look(shown.token.kind, turn=shown.turn, absent=not shown.covers_text) if palette else None
    return _Cell(shown.strip, look, str(shown.token.id) if ids else "", separator)


# --- cells to lines ---------------------------------------------------------------------------


def _blocks(cell: _Cell, *, columns: int) -> Iterator[_Block]:
    """Split a cell into blocks that fit on a line: one, except for wide tokens and line ends inside a token."""
    has_separators = cell.look is None
    label = cell.label
    if label and not has_separators:
        label += " "  # keeps ids apart
    *parts, last = _split_strip(cell.strip, columns=columns - has_separators)
    for part in parts:
        yield _block(part, cell.look, label=label, separator="")
        label = ""
    yield _block(last, cell.look, label=label, separator=cell.separator)


def _split_strip(whole: Strip, *, columns: int) -> Iterator[Strip]:
    """Split a strip between glyphs, after line ends and where the columns are used up."""
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


# --- the tokens made visible ------------------------------------------------------------------


class VisibleToken(NamedTuple):
    """A token, or text that no token covers.

    Attributes:
        token: the token; None for text that no token covers.
        turn: index of the token, or of the token after the uncovered text.
        start: offset of its first byte in the text.
        stop: offset after its last byte.
        strip: its glyphs; a token that covers no text is shown by its bytes.
        cuts_after: whether it ends inside a grapheme cluster.
        covers_text: whether it covers some of the text.
    """

    token: Token | None
    turn: int
    start: int
    stop: int
    strip: Strip
    cuts_after: bool
    covers_text: bool = True


def visible_tokens(segmentation: Segmentation) -> Iterator[VisibleToken]:
    """Yield all tokens of a segmentation, and the text between them; spans may be empty, overlap or leave gaps."""
    data = segmentation.text.encode()
    cuts = {edge: cut.span for cut in cut_clusters(segmentation) for edge in cut.boundaries}
    covered = 0
    for turn, token in enumerate(segmentation.tokens):
        start, stop = min(token.span.start, len(data)), token.span.stop
        if start > covered:
            yield _uncovered(data, cuts, turn, covered, start)
        covered = max(covered, start, stop)
        shown = data[token.span.start : stop]
        head, tail = _cut_ends(cuts, *token.span) if shown else (0, 0)
        looks = _looks(token.kind, shown or token.piece, head, tail)
        yield VisibleToken(token, turn, token.span.start, stop, looks, stop in cuts, bool(shown))
    if covered < len(data):
        yield _uncovered(data, cuts, len(segmentation.tokens), covered, len(data))


def enclosed(opening: str, glyphs: tuple[Glyph, ...], closing: str) -> Strip:
    """Enclose glyphs in brackets; the closing bracket stays on the line of the last glyph."""
    last = glyphs[-1]
    return strip(
        (sign(opening), *glyphs[:-1], last._replace(ends_line=False), sign(closing, ends_line=last.ends_line))
    )


def _uncovered(data: bytes, cuts: Mapping[int, Span], turn: int, start: int, stop: int) -> VisibleToken:
    head, tail = _cut_ends(cuts, start, stop)
    looks = strip(cut_glyphs(data[start:stop], head=head, tail=tail))
    return VisibleToken(None, turn, start, stop, looks, stop in cuts)


def _cut_ends(cuts: Mapping[int, Span], start: int, stop: int) -> tuple[int, int]:
    """Return how many bytes at the head and the tail belong to clusters that the two edges cut."""
    head = min(cuts[start].stop, stop) - start if start in cuts else 0
    tail = stop - max(cuts[stop].start, start) if stop in cuts else 0
    return head, min(tail, stop - start - head)


def _looks(kind: TokenKind, shown: bytes, head: int, tail: int) -> Strip:
    make = _token_strip if len(shown) <= _LONGEST_KEPT else _token_strip.__wrapped__
    return make(kind, shown, head, tail)


@lru_cache(maxsize=1 << 16)
def _token_strip(kind: TokenKind, shown: bytes, head: int, tail: int) -> Strip:
    if kind is TokenKind.BYTE and shown:
        is_cut = head + tail > 0
        return strip(glyph._replace(cut=is_cut) for glyph in byte_glyphs(shown))
    glyphs = cut_glyphs(shown, head=head, tail=tail) or (sign(EMPTY_MARK),)
    if kind is TokenKind.SPECIAL:
        return enclosed("⟪", glyphs, "⟫")
    if kind is TokenKind.UNKNOWN:
        return strip((sign(UNKNOWN_MARK), *glyphs))
    return strip(glyphs)
