"""A text in rows of a given width, computed only around the visible part.

A line is wrapped in sections of `SECTION` characters, each independently: however long a line is, a row is found by
wrapping only the section that contains it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tokbench.core.graphemes import clusters
from tokbench.render.glyphs import glyphs_of

SECTION = 4_096
"""Number of characters after which a line always begins a new row."""
_TAB = 4

LONG = 200_000
"""Length in characters from which a part of a text is encoded before the whole."""
_BEFORE, _AFTER = 8_000, 16_000
"""Characters of that part before and after the cursor: more than any screen shows."""
_REACH = 2_000
"""Additional characters within which the part may be extended to the beginning or end of a line."""


class DrawnCluster(NamedTuple):
    """A grapheme cluster as it is drawn.

    Attributes:
        start: index of its first character in the text.
        stop: index after its last character.
        text: the drawn text.
        width: its columns.
        stand_in: whether the drawn text is a stand-in.
    """

    start: int
    stop: int
    text: str
    width: int
    stand_in: bool


class TextRow(NamedTuple):
    """A row of text.

    Attributes:
        start: index of its first character in the text.
        stop: index after its last character, where the next row begins; a line end belongs to no row.
        pieces: the drawn clusters.
        ends_line: whether a line of the text, or the text, ends after it.
    """

    start: int
    stop: int
    pieces: tuple[DrawnCluster, ...]
    ends_line: bool

    def column_of(self, offset: int) -> int:
        """Return the column at which a character of the row begins."""
        return sum(piece.width for piece in self.pieces if piece.start < offset)

    def offset_at(self, column: int) -> int:
        """Return the character at a column, or the last position of the row if there is none."""
        reached = 0
        for piece in self.pieces:
            reached += piece.width
            if reached > column:
                return piece.start
        return self.stop if self.ends_line or not self.pieces else self.pieces[-1].start


def rows_round(text: str, offset: int, *, width: int) -> list[TextRow]:
    r"""Return the rows of the section that contains a character, or the end of the text.

    >>> [text[row.start : row.stop] for text in ["to be or not"] for row in rows_round(text, 0, width=6)]
    ['to be ', 'or not']
    """
    line = text.rfind("\n", 0, offset) + 1
    is_end = offset == len(text) or text[offset] == "\n"
    before = offset - 1 if is_end and offset > line else offset
    start = line + (before - line) // SECTION * SECTION
    end = text.find("\n", start, start + SECTION)
    stop = min(start + SECTION, len(text)) if end < 0 else end
    ends_line = stop == len(text) or text[stop] == "\n"
    return _wrapped(_pieces(text, start, stop), start, stop, width=width, ends_line=ends_line)


def row_at(text: str, offset: int, *, width: int) -> TextRow:
    """Return the row that contains a character, or the cursor position before it."""
    rows = rows_round(text, offset, width=width)
    return next((row for row in reversed(rows) if row.start <= offset), rows[0])


def row_after(text: str, row: TextRow, *, width: int) -> TextRow | None:
    """Return the row below, or None for the last row."""
    start = row.stop + row.ends_line
    return row_at(text, start, width=width) if start <= len(text) else None


def row_before(text: str, row: TextRow, *, width: int) -> TextRow | None:
    """Return the row above, or None for the first row."""
    return row_at(text, row.start - 1, width=width) if row.start else None


def _pieces(text: str, start: int, stop: int) -> list[DrawnCluster]:
    drawn_clusters: list[DrawnCluster] = []
    place = start
    for cluster in clusters(text[start:stop]):
        drawn_clusters.append(_piece(place, cluster))
        place += len(cluster)
    return drawn_clusters


def _piece(start: int, cluster: str) -> DrawnCluster:
    stop = start + len(cluster)
    if cluster == " ":
        return DrawnCluster(start, stop, " ", 1, stand_in=False)
    if cluster == "\t":
        return DrawnCluster(start, stop, "→".ljust(_TAB), _TAB, stand_in=True)
    glyphs = glyphs_of(cluster.encode())
    drawn = "".join(glyph.text for glyph in glyphs)
    return DrawnCluster(
        start, stop, drawn, sum(glyph.width for glyph in glyphs), stand_in=any(g.stand_in for g in glyphs)
    )


def _wrapped(
    pieces: list[DrawnCluster], start: int, stop: int, *, width: int, ends_line: bool
) -> list[TextRow]:
    """Wrap pieces into rows that end after a space if possible."""
    rows: list[TextRow] = []
    first = used = 0
    last_space = -1
    for number, piece in enumerate(pieces):
        # The rest after a space may be too wide as well.
        while used + piece.width > width and number > first:
            cut = last_space + 1 if last_space >= first else number
            rows.append(
                TextRow(pieces[first].start, pieces[cut].start, tuple(pieces[first:cut]), ends_line=False)
            )
            first = cut
            used = sum(drawn.width for drawn in pieces[first:number])
        used += piece.width
        if piece.text == " ":
            last_space = number
    rest = tuple(pieces[first:])
    rows.append(TextRow(rest[0].start if rest else start, stop, rest, ends_line=ends_line))
    return rows


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text, or all of it.

    Attributes:
        text: the text of the part.
        character: index of its first character in the whole text.
        byte: UTF-8 byte offset of its start in the whole text.
        is_whole: whether it is the whole text.
    """

    text: str
    character: int = 0
    byte: int = 0
    is_whole: bool = True

    def holds(self, character: int) -> bool:
        """Whether it contains a cursor position of the whole text."""
        return self.is_whole or self.character <= character <= self.character + len(self.text)


def part_round(text: str, cursor: int) -> TextPart:
    r"""Return the part of a text around a cursor, aligned to lines if line ends are near.

    >>> part = part_round("low\n" * 100_000, 200_000)
    >>> part.character, part.byte, len(part.text), part.text[:4], part.is_whole
    (192000, 192000, 24000, 'low\n', False)
    """
    if len(text) < LONG:
        return TextPart(text)
    first, last = max(cursor - _BEFORE, 0), min(cursor + _AFTER, len(text))
    line = text.rfind("\n", max(first - _REACH, 0), first)
    first = line + 1 if line >= 0 else first
    end = text.find("\n", last - 1, last + _REACH)
    last = end + 1 if end >= 0 else last
    return TextPart(text[first:last], first, len(text[:first].encode()), is_whole=False)
