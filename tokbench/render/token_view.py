"""A segmentation as lines of cells: one cell per token, wrapped between tokens, with all text made visible.

With a palette, tokens are distinguished by their backgrounds; without one by separators. A character
that tokens cut is underlined as a whole, and its boundaries are `╎` instead of `│`. Text that no
token covers has no background, or is enclosed in `⟦⟧`. Everything streams, in time linear in the text.

Adjacent tokens always differ, also for colour-blind readers. The backgrounds are fixed entries of the 256-colour cube
with their own text colour, so they look the same in dark and light terminals. They were found by search: under normal
sight, protanopia, deuteranopia and tritanopia, colours next to each other in the cycle are at least ΔE 35 apart (CIE
1976).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from tokbench.core.tokens import TokenKind
from tokbench.render.glyphs import Glyph, Strip, enclosed, strip
from tokbench.render.visible_tokens import VisibleToken, visible_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from tokbench.core.tokens import Segmentation

FAINT = Style(dim=True)
"""The style of ids, rules and notes."""
_NO_ATTRIBUTES = Style()


def rule_with_title(name: str, about: str, *, width: int) -> Text:
    """Return a rule that begins with a name and what follows it, cut to a width."""
    title = Text.assemble(("── ", FAINT), (name, "bold"), f" · {about} ")
    title.truncate(width, overflow="ellipsis")
    return title.append("─" * (width - title.cell_len), FAINT)


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """The styles of one token's cell; equal only to itself.

    Attributes:
        text: style of characters that stand for themselves, and of padding.
        stand_in: style of stand-ins (`·`, `⟨ZWSP⟩`).
        cut: like `text`, inside a character that a token boundary cuts.
        cut_stand_in: like `stand_in`, inside such a character.
    """

    text: Style
    stand_in: Style
    cut: Style
    cut_stand_in: Style

    def style(self, *, stand_in: bool, cut: bool) -> Style:
        """Return the style of a run of glyphs."""
        if stand_in:
            return self.cut_stand_in if cut else self.stand_in
        return self.cut if cut else self.text


@dataclass(frozen=True, slots=True)
class Palette:
    """The looks of all tokens; neighbours in a tuple, which is cyclic, have different backgrounds.

    Attributes:
        tokens: the cycle of looks of each kind; ordinary and byte-fallback tokens share their backgrounds.
        absent: the same cycle for tokens that cover no text.
        uncovered: the look of text that no token covers.
    """

    tokens: Mapping[TokenKind, tuple[Look, ...]]
    absent: tuple[Look, ...]
    uncovered: Look

    def look(self, kind: TokenKind, *, turn: int, absent: bool = False) -> Look:
        """Return the look of the token at position `turn`, whose background differs from those of its neighbours."""
        cycle = self.absent if absent and kind is TokenKind.NORMAL else self.tokens[kind]
        return cycle[turn % len(cycle)]


def palette_for(console: Console) -> Palette | None:
    """Return the palette that a console can show; None if it shows no colour."""
    if console.no_color or console.color_system is None:
        return None
    return SIXTEEN if console.color_system in ("standard", "windows") else CUBE


def _palette(
    *,
    cycle: Sequence[int],
    text: int,
    stand_in: int,
    special: Sequence[int],
    unknown: Sequence[int],
    bright: int,
    bright_stand_in: int,
) -> Palette:
    """Build a palette from colour numbers: dark text on the cycle, bright bold text on special and unknown tokens."""
    ordinary = tuple(_look(ground, text, stand_in) for ground in cycle)
    marked = {
        kind: tuple(_look(ground, bright, bright_stand_in, Style(bold=True)) for ground in grounds)
        for kind, grounds in ((TokenKind.SPECIAL, special), (TokenKind.UNKNOWN, unknown))
    }
    byte = tuple(_look(ground, text, stand_in, Style(italic=True)) for ground in cycle)
    return Palette(
        tokens={TokenKind.NORMAL: ordinary, TokenKind.BYTE: byte, **marked},
        absent=tuple(_look(ground, text, stand_in, FAINT) for ground in cycle),
        uncovered=Look(text=FAINT, stand_in=FAINT, cut=_underlined(FAINT), cut_stand_in=_underlined(FAINT)),
    )


def _look(ground: int, text: int, stand_in: int, attributes: Style = _NO_ATTRIBUTES) -> Look:
    plain = Style(color=Color.from_ansi(text), bgcolor=Color.from_ansi(ground)) + attributes
    muted = Style(color=Color.from_ansi(stand_in), bgcolor=Color.from_ansi(ground)) + attributes
    return Look(text=plain, stand_in=muted, cut=_underlined(plain), cut_stand_in=_underlined(muted))


def _underlined(style: Style) -> Style:
    return style + Style(underline=True)


CUBE = _palette(
    cycle=(216, 153, 185, 79, 147),  # apricot, sky, olive, mint, lavender
    text=16,
    stand_in=19,
    special=(18, 60),
    unknown=(88, 89),
    bright=231,
    bright_stand_in=229,
)
"""The palette for terminals with 256 colours or more."""

SIXTEEN = _palette(
    cycle=(7, 6, 3),  # white, cyan, yellow
    text=0,
    stand_in=0,
    special=(4, 8),
    unknown=(1, 5),
    bright=15,
    bright_stand_in=15,
)
"""The palette for terminals with sixteen colours, which users may change: only pairs that most themes keep readable."""


MIN_WIDTH = 20
"""The minimum width: it holds the longest stand-in name, and a 32-bit id."""


class Separators(NamedTuple):
    """Separators between tokens, for output without colours."""

    whole: str
    cut: str


SEPARATORS = (Separators("│", "╎"), Separators("┃", "╏"), Separators("║", "┊"), Separators("❘", "❙"))
"""The first pair that does not occur in the text is used, or the last one if all occur."""


_SEPARATOR_SEGMENTS = {separator: Segment(separator) for pair in SEPARATORS for separator in pair}
_MOST_KNOWN = 1 << 16
"""Maximum number of drawn strips that are kept."""


class Row(NamedTuple):
    """One terminal line and its width in columns."""

    segments: tuple[Segment, ...]
    width: int


class Line(NamedTuple):
    """One line of the view: its tokens and, if requested, their ids beneath."""

    rows: tuple[Row, ...]
    ends_text_line: bool = False


class _Block(NamedTuple):
    """A token, text that no token covers, or a part of one of them that fits on one line."""

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
    drawing = _Drawing(ids=ids)
    line: list[_Block] = []
    used = 0
    for whole in _cells(segmentation, palette=palette, ids=ids):
        fits = whole.strip.room <= columns - (whole.look is None) and not whole.strip.breaks_inside
        for block in (whole,) if fits else _parts(whole, columns=columns):
            if line and used + block.room > columns:
                yield drawing.line(line)
                line, used = [], 0
            line.append(block)
            used += block.room
            if block.strip.ends_line:
                yield drawing.line(line, ends_text_line=True)
                line, used = [], 0
    if line:
        yield drawing.line(line)


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


def _cells(segmentation: Segmentation, *, palette: Palette | None, ids: bool) -> Iterator[_Block]:
    """Yield the cells in reading order; the last one has no separator."""
    if palette is not None:
        yield from (_coloured_cell(shown, palette, ids=ids) for shown in visible_tokens(segmentation))
        return
    separators = separators_for(segmentation.text)
    previous: _Block | None = None
    for shown in visible_tokens(segmentation):
        if previous is not None:
            yield previous
        previous = _separated_cell(shown, separators, ids=ids)
    if previous is not None:
        yield previous._replace(separator="", room=previous.room - len(previous.separator))


def _coloured_cell(shown: VisibleToken, palette: Palette, *, ids: bool) -> _Block:
    token, turn, _, _, looks, _, covers_text = shown
    if token is None:
        return _block(looks, palette.uncovered)
    look = palette.look(token.kind, turn=turn, absent=not covers_text)
    if ids:
        return _block(looks, look, f"{token.id} ")  # the space keeps ids apart
    return _Block(looks, look, "", "", looks.width, looks.room)


def _separated_cell(shown: VisibleToken, separators: Separators, *, ids: bool) -> _Block:
    separator = separators.cut if shown.cuts_after else separators.whole
    if shown.token is None:
        return _block(enclosed("⟦", shown.strip.glyphs, "⟧"), None, separator=separator)
    return _block(shown.strip, None, str(shown.token.id) if ids else "", separator=separator)


# --- cells to lines ---------------------------------------------------------------------------


def _parts(cell: _Block, *, columns: int) -> Iterator[_Block]:
    """Split a cell that does not fit on a line, or has line ends inside."""
    *parts, last = _split_strip(cell.strip, columns=columns - (cell.look is None))
    label = cell.label
    for part in parts:
        yield _block(part, cell.look, label)
        label = ""
    yield _block(last, cell.look, label, separator=cell.separator)


def _split_strip(whole: Strip, *, columns: int) -> Iterator[Strip]:
    """Split a strip between glyphs, after line ends and where the columns are used up."""
    glyphs: list[Glyph] = []
    used = 0
    for glyph in whole.glyphs:
        if glyphs and (glyphs[-1].ends_line or used + glyph.room > columns):
            yield strip(glyphs)
            glyphs, used = [], 0
        glyphs.append(glyph)
        used += glyph.room
    yield strip(glyphs)


def _block(shown: Strip, look: Look | None, label: str = "", *, separator: str = "") -> _Block:
    width = max(shown.width, len(label))
    return _Block(shown, look, label, separator, width, max(shown.room, width) + len(separator))


class _Drawing:
    """Makes lines of blocks; a strip that occurs again with the same look is drawn once.

    Args:
        ids: whether labels are shown beneath the tokens.
    """

    def __init__(self, *, ids: bool) -> None:
        self._ids = ids
        self._known: dict[tuple[Strip, Look | None], tuple[Segment, ...]] = {}

    def line(self, blocks: list[_Block], *, ends_text_line: bool = False) -> Line:
        text = self._text_row(blocks)
        return Line((text, _label_row(blocks)) if self._ids else (text,), ends_text_line)

    def _text_row(self, blocks: list[_Block]) -> Row:
        segments: list[Segment] = []
        total = 0
        known = self._known
        for shown, look, _, separator, width, _ in blocks:
            segments += known.get((shown, look)) or self._drawn(shown, look)
            total += width
            if width > shown.width:
                segments.append(Segment(" " * (width - shown.width), look.text if look else None))
            if separator:
                segments.append(_SEPARATOR_SEGMENTS[separator])
                total += len(separator)
        return Row(tuple(segments), total)

    def _drawn(self, shown: Strip, look: Look | None) -> tuple[Segment, ...]:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        drawn = tuple(
            Segment(run.text, look.style(stand_in=run.stand_in, cut=run.cut) if look else None)
            for run in shown.runs
        )
        self._known[shown, look] = drawn
        return drawn


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
