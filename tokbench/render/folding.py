"""Lines folded behind an indentation, at spaces and between tokens, and not inside what stands in quotes."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

_IN_QUOTES = re.compile(r'"(?:[^"\\]|\\.)*"')
_BREAKS = re.compile(" +|│")
_NARROWEST = 20
"""Columns that a text is folded in at least."""


class Line(NamedTuple):
    """A line that is folded behind its indentation, or behind the first characters of its own text."""

    text: Text
    indent: int = 0
    label: int = 0


def folded(line: Line, console: Console) -> list[Text]:
    """The rows of a line in the width of a console."""
    return folded_to(line, console.width)


def folded_to(line: Line, width: int) -> list[Text]:
    """The rows of a line; those behind the first begin where its text does."""
    before = Text(" " * line.indent) + line.text[: line.label]
    indent = before.cell_len
    rest = line.text[line.label :]
    if indent + rest.cell_len <= width:
        return [before + rest]
    rows = _wrapped(rest, max(width - indent, _NARROWEST))
    return [before + rows[0], *(Text(" " * indent) + row for row in rows[1:])]


def _wrapped(text: Text, width: int) -> list[Text]:
    """A text in rows that end at spaces or between tokens, and inside a token only where it is wider than a row."""
    rows: list[Text] = []
    start = 0
    for stop in _row_ends(text, width):
        row = text[start:stop]
        row.rstrip()
        rows.append(row)
        start = stop
    return rows


def _row_ends(text: Text, width: int) -> Iterator[int]:
    """Where the rows of a text end."""
    plain = text.plain
    kept = [match.span() for match in _IN_QUOTES.finditer(plain) if len(match[0]) <= width]
    ends = {match.end() for match in _BREAKS.finditer(plain)}
    ends |= {place for span in text.spans for place in (span.start, span.end) if _is_between(plain, place)}
    whole = [place for place in sorted(ends) if not any(start < place < stop for start, stop in kept)]
    start = 0
    for place, next_place in pairwise([0, *whole, len(plain)]):
        if cell_len(plain[start:next_place].rstrip(" ")) <= width:
            continue
        if place > start:
            yield place
            start = place
        while cell_len(plain[start:next_place].rstrip(" ")) > width:
            start += len(set_cell_size(plain[start:], width).rstrip(" ")) or 1
            yield start
    yield len(plain)


def _is_between(plain: str, place: int) -> bool:
    """Whether a place is inside a word, where two tokens of different looks meet."""
    return 0 < place < len(plain) and plain[place - 1] != " " and plain[place] != " "
