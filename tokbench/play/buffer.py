"""The edited text, and the position of the cursor in it."""

from __future__ import annotations

import re
from typing import NamedTuple

from tokbench.core.graphemes import clusters

_LONGEST_CLUSTER = 64
"""Number of characters that are searched for the cluster next to the cursor."""
_EDITS_KEPT = 1_000
_WORD_BEFORE = re.compile(r"\w+\W*$|\W+$")
_WORD_AFTER = re.compile(r"\W*\w+|\W+")
_WORD_REACH = 256


class Edit(NamedTuple):
    """A change of a text that can be undone.

    Attributes:
        start: index of its first character.
        removed: the text before the change.
        inserted: the text after the change.
    """

    start: int
    removed: str
    inserted: str


class TextBuffer:
    r"""A text with a cursor. Every editing method records how to undo it.

    Attributes:
        text: the text, exactly as it is encoded: no line end or control character is changed.
        cursor: position of the cursor, in characters.

    >>> buffer = TextBuffer("one two")
    >>> buffer.move_to_end(); buffer.delete_word(); buffer.insert("2"); buffer.text
    'one 2'
    >>> buffer.undo(); buffer.undo(); buffer.text
    'one two'
    """

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.cursor = 0
        self._done: list[Edit] = []
        self._undone: list[Edit] = []

    # --- moving -------------------------------------------------------------------------------

    def move_to(self, offset: int) -> None:
        """Move the cursor to a character, or to the nearest end."""
        self.cursor = min(max(offset, 0), len(self.text))

    def move_left(self) -> None:
        """Move by one character as readers see it: a grapheme cluster."""
        self.cursor -= self._size_before()

    def move_right(self) -> None:
        """Move by one grapheme cluster."""
        self.cursor += self._size_after()

    def move_word_left(self) -> None:
        """Move to the beginning of the word before the cursor."""
        self.cursor = self._word_start()

    def move_word_right(self) -> None:
        """Move to the end of the word after the cursor."""
        match = _WORD_AFTER.match(self.text, self.cursor, self.cursor + _WORD_REACH)
        self.cursor = self.cursor if match is None else match.end()

    def move_to_end(self) -> None:
        """Move to the end of the text."""
        self.cursor = len(self.text)

    # --- editing ------------------------------------------------------------------------------

    def insert(self, text: str) -> None:
        """Insert a text at the cursor; lone surrogates, which UTF-8 cannot encode, become U+FFFD."""
        whole = text.encode("utf-16-le", errors="surrogatepass").decode("utf-16-le", errors="replace")
        self._replace(self.cursor, self.cursor, whole)

    def delete_left(self) -> None:
        """Delete the grapheme cluster before the cursor."""
        self._replace(self.cursor - self._size_before(), self.cursor, "")

    def delete_right(self) -> None:
        """Delete the grapheme cluster after the cursor."""
        self._replace(self.cursor, self.cursor + self._size_after(), "")

    def delete_word(self) -> None:
        """Delete back to the beginning of a word."""
        self._replace(self._word_start(), self.cursor, "")

    def delete_to_line_start(self) -> None:
        """Delete back to the beginning of the line."""
        self._replace(self.text.rfind("\n", 0, self.cursor) + 1, self.cursor, "")

    def delete_to_line_end(self) -> None:
        """Delete up to the end of the line; at its end, the line end."""
        stop = self.text.find("\n", self.cursor)
        stop = len(self.text) if stop < 0 else max(stop, self.cursor + 1)
        self._replace(self.cursor, stop, "")

    def undo(self) -> None:
        """Undo the last edit."""
        if self._done:
            edit = self._done.pop()
            self._undone.append(edit)
            self._put(edit.start, edit.start + len(edit.inserted), edit.removed)

    def redo(self) -> None:
        """Redo the edit that was undone last."""
        if self._undone:
            edit = self._undone.pop()
            self._done.append(edit)
            self._put(edit.start, edit.start + len(edit.removed), edit.inserted)

    # --- inside -------------------------------------------------------------------------------

    def _replace(self, start: int, stop: int, text: str) -> None:
        if start == stop and not text:
            return
        self._done.append(Edit(start, self.text[start:stop], text))
        del self._done[:-_EDITS_KEPT]
        self._undone.clear()
        self._put(start, stop, text)

    def _put(self, start: int, stop: int, text: str) -> None:
        self.text = self.text[:start] + text + self.text[stop:]
        self.cursor = start + len(text)

    def _size_before(self) -> int:
        before = clusters(self.text[max(self.cursor - _LONGEST_CLUSTER, 0) : self.cursor])
        return len(before[-1]) if before else 0

    def _size_after(self) -> int:
        after = clusters(self.text[self.cursor : self.cursor + _LONGEST_CLUSTER])
        return len(after[0]) if after else 0

    def _word_start(self) -> int:
        first = max(self.cursor - _WORD_REACH, 0)
        match = _WORD_BEFORE.search(self.text[first : self.cursor])
        return self.cursor if match is None else first + match.start()
