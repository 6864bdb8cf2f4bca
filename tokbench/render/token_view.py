"""One segmentation as lines of cells: a cell a token, wrapped between tokens, its text made visible.

With a palette, tokens are told apart by their backgrounds; without one by a separator. A character
that tokens cut is underlined from end to end, and its boundaries are `╎` instead of `│`. Text that no
token covers stands without a background, or in `⟦⟧`. Everything streams, in time linear in the text.
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
    from collections.abc import Iterable, Iterator, Mapping

    from tokbench.core.tokens import Segmentation, Span, Token
    from tokbench.render.palette import Look, Palette

MIN_WIDTH = 20
"""The narrowest view: it holds the widest name, and an id of 32 bits."""

UNKNOWN_MARK = "⟨?⟩"
EMPTY_MARK = "⟨empty⟩"


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


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes the cells of one segmentation.

    Attributes:
        data: the text's bytes.
        cuts: each boundary inside a grapheme cluster → the cluster's span.
        palette: the colours, or None.
        separators: what stands between cells, or None where colours tell them apart.
        ids: whether cells are labelled.
    """

    data: bytes
    cuts: Mapping[int, Span]
    palette: Palette | None
    separators: Separators | None
    ids: bool

    def token(self, token: Token, *, turn: int) -> _Cell:
        """The cell of the token at position `turn`: the text it covers, or its piece where it covers none."""
        start, stop = token.span
        covered = self.data[start:stop]
        shown = covered or token.piece
        head, tail = self._cut_ends(start, stop) if covered else (0, 0)
        make = _token_strip if len(shown) <= _LONGEST_KEPT else _token_strip.__wrapped__
        return _Cell(
            strip=make(token.kind, shown, head, tail),
            look=self.palette.look(token.kind, turn=turn, absent=not covered) if self.palette else None,
            label=str(token.id) if self.ids else "",
            separator=self._separator(stop),
        )

    def uncovered(self, start: int, stop: int) -> _Cell:
        """The cell of text that no token covers."""
        head, tail = self._cut_ends(start, stop)
        glyphs = cut_glyphs(self.data[start:stop], head=head, tail=tail)
        return _Cell(
            strip=strip(glyphs if self.palette else _enclosed("⟦", glyphs, "⟧")),
            look=self.palette.uncovered if self.palette else None,
            label="",
            separator=self._separator(stop),
        )

    def _separator(self, edge: int) -> str:
        if self.separators is None:
            return ""
        return self.separators.cut if edge in self.cuts else self.separators.whole

    def _cut_ends(self, start: int, stop: int) -> tuple[int, int]:
        """How many bytes at the head and the tail belong to clusters that these edges cut."""
        head = min(self.cuts[start].stop, stop) - start if start in self.cuts else 0
        tail = stop - max(self.cuts[stop].start, start) if stop in self.cuts else 0
        return head, min(tail, stop - start - head)


def _cells(segmentation: Segmentation, *, palette: Palette | None, ids: bool) -> Iterator[_Cell]:
    """The cells in reading order; the last one has no separator."""
    maker = _Maker(
        data=segmentation.text.encode(),
        cuts={edge: cut.span for cut in cut_clusters(segmentation) for edge in cut.boundaries},
        palette=palette,
        separators=None if palette else separators_for(segmentation.text),
        ids=ids,
    )
    held: _Cell | None = None
    for cell in _separated_cells(maker, segmentation.tokens):
        if held is not None:
            yield held
        held = cell
    if held is not None:
        yield replace(held, separator="")


def _separated_cells(maker: _Maker, tokens: Iterable[Token]) -> Iterator[_Cell]:
    size = len(maker.data)
    covered = 0
    for turn, token in enumerate(tokens):
        start = min(token.span.start, size)
        if start > covered:
            yield maker.uncovered(covered, start)
        covered = max(covered, start, token.span.stop)
        yield maker.token(token, turn=turn)
    if covered < size:
        yield maker.uncovered(covered, size)


_LONGEST_KEPT = 64


@lru_cache(maxsize=1 << 16)
def _token_strip(kind: TokenKind, shown: bytes, head: int, tail: int) -> Strip:
    if kind is TokenKind.BYTE and shown:
        is_cut = head + tail > 0
        return strip(glyph._replace(cut=is_cut) for glyph in byte_glyphs(shown))
    glyphs = cut_glyphs(shown, head=head, tail=tail) or (sign(EMPTY_MARK),)
    if kind is TokenKind.SPECIAL:
        return strip(_enclosed("⟪", glyphs, "⟫"))
    if kind is TokenKind.UNKNOWN:
        return strip((sign(UNKNOWN_MARK), *glyphs))
    return strip(glyphs)


def _enclosed(opening: str, glyphs: tuple[Glyph, ...], closing: str) -> tuple[Glyph, ...]:
    """Glyphs in brackets; the closing one stays on the line of what it closes."""
    last = glyphs[-1]
    return (
        sign(opening),
        *glyphs[:-1],
        last._replace(ends_line=False),
        sign(closing, ends_line=last.ends_line),
    )


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
