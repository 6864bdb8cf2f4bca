"""Alignments of two short texts with a minimal number of edits: the definition, and the kernel in Python."""

from __future__ import annotations

SAME, LOST, FOUND, CHANGED = range(4)
"""Steps of an alignment: a character of both texts, of the text alone, of the other text alone, or different ones of
both."""
_END_STRIDE = 8
"""Step in which the end of an alignment is looked for."""
_MOST_COMPARED = 1 << 26
"""Maximum product of both lengths."""


def edit_steps(text: str, other: str, lengths: tuple[int, int] | None = None) -> bytes:
    """Return the steps of an alignment of two texts with the fewest edits, each a byte.

    Args:
        text: a text.
        other: the other text.
        lengths: if both texts are only the beginnings of longer ones, the lengths of these: then the alignment is of
            two beginnings of the texts, one of them the whole text, that promise the fewest edits.

    Raises:
        ValueError: the texts are too long, or longer than `lengths`.

    >>> list(edit_steps("ab c", "aXc"))
    [0, 3, 1, 0]
    """
    if len(text) * len(other) > _MOST_COMPARED:
        raise ValueError("the texts are too long")
    if lengths is not None and (lengths[0] < len(text) or lengths[1] < len(other)):
        raise ValueError("a text is longer than the whole one")
    table = _Table(text, other)
    return table.steps(*((len(text), len(other)) if lengths is None else table.best_end(*lengths)))


class _Table:
    """The table of edit distances between the beginnings of two texts, as the bits of two integers per column.

    A column is for a beginning of the other text. Its bits say where the distance rises by one, and where it falls by
    one, from one beginning of the text to the next; the next column takes a few operations on them.

    Source: Hyyrö 2003, "A Bit-Vector Algorithm for Computing Levenshtein and Damerau Edit Distances", after Myers 1999.
    """

    def __init__(self, text: str, other: str) -> None:
        self._text, self._other = text, other
        places: dict[str, int] = {}
        for index, character in enumerate(text):
            places[character] = places.get(character, 0) | 1 << index
        every = (1 << len(text)) - 1
        rises, falls = every, 0
        self._columns = [(rises, falls, 0)]
        for character in other:
            equal = places.get(character, 0)
            # `level`: where the diagonal adds nothing
            level = ((((equal & rises) + rises) ^ rises) | equal | falls) & every if equal else falls
            across = (
                falls | ((level | rises) ^ every)
            ) << 1 | 1  # rises to this column; the first row always does
            rises, falls = (
                (((rises & level) << 1) | ((level | across) & every ^ every)) & every,
                across & level,
            )
            self._columns.append((rises, falls, level))

    def best_end(self, length: int, other_length: int) -> tuple[int, int]:
        """Return the beginnings, one of them a whole text, with the fewest edits, and then the longest of these.

        The fewest edits of what follows, up to texts of the given lengths, are added: the difference in length.
        """
        rows, columns = len(self._text), len(self._other)
        rises, falls, _ = self._columns[-1]
        ends = []
        for row in {*range(0, rows, _END_STRIDE), rows}:
            above = (1 << row) - 1
            ends.append((columns + (rises & above).bit_count() - (falls & above).bit_count(), row, columns))
        for column in range(0, columns, _END_STRIDE):
            rises, falls, _ = self._columns[column]
            ends.append((column + rises.bit_count() - falls.bit_count(), rows, column))
        _, row, column = min(
            ends,
            key=lambda end: (
                3 * end[0] + abs(length - end[1] - other_length + end[2]),
                -end[1] - end[2],
                -end[1],
            ),
        )
        return row, column

    def steps(self, row: int, column: int) -> bytes:
        """Return the steps of a minimal alignment of two beginnings.

        Of several, it is one that replaces characters by characters and white space by white space.
        """
        text, other, columns = self._text, self._other, self._columns
        i, j = row, column
        found = bytearray()
        while i and j:
            one, two, bit = text[i - 1], other[j - 1], i - 1
            rises, _, level = columns[j]
            rises_before, falls_before, _ = columns[j - 1]
            can_replace = not level >> bit & 1
            can_insert = not rises_before >> bit & 1 and can_replace ^ falls_before >> bit & 1
            can_delete = rises >> bit & 1
            if one == two:
                step = SAME
            elif can_replace and one.isspace() == two.isspace():
                step = CHANGED
            elif can_insert and (two.isspace() or not can_delete):
                step = FOUND
            else:
                step = LOST if can_delete else CHANGED
            i -= step != FOUND
            j -= step != LOST
            found.append(step)
        found += bytes([LOST]) * i + bytes([FOUND]) * j
        return bytes(reversed(found))
