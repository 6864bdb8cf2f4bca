"""NFC normalization before splitting, and the mapping of spans back to the original text."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from tokbench.core.normal_forms import is_later, nfc
from tokbench.core.tokens import Span

if TYPE_CHECKING:
    from collections.abc import Iterator


def changed_runs(text: str) -> Iterator[tuple[str, str, Span]]:
    r"""Yield the runs of a text that NFC changes: the original, the normalized form, and the span in the text.

    >>> [ascii(after) for _, after, _ in changed_runs("ae\u0301b")]
    ["'\\xe9'"]
    """
    position = 0
    for run in _runs(text):
        stop = position + len(run.encode())
        if (normal := nfc(run)) != run:
            yield run, normal, Span(position, stop)
        position = stop


class NfcAlignment:
    r"""A mapping from byte spans of a text's NFC form to byte spans of the text.

    The text is divided into the smallest runs of characters that are normalized independently;
    a span that touches a changed run maps to the whole run.

    >>> NfcAlignment("ae\u0301b").original(Span(1, 3))  # the é of "aéb"
    Span(start=1, stop=4)
    """

    def __init__(self, text: str) -> None:
        self._changed: list[tuple[Span, Span]] = []  # runs that changed: (in the NFC form, in the text)
        position = normal_position = 0
        for run in _runs(text):
            size = len(run.encode())
            normal = nfc(run)
            normal_size = len(normal.encode())
            if normal != run:
                normal_span = Span(normal_position, normal_position + normal_size)
                self._changed.append((normal_span, Span(position, position + size)))
            position += size
            normal_position += normal_size
        self._normal_starts = [normal.start for normal, _ in self._changed]
        self._normal_stops = [normal.stop for normal, _ in self._changed]

    def original(self, span: Span) -> Span:
        """Return the span of the text from which a span of its NFC form comes: the whole of each changed run."""
        return Span(self._start(span.start), self._stop(span.stop))

    def _start(self, offset: int) -> int:
        before = bisect_right(self._normal_starts, offset) - 1  # the last changed run that starts by offset
        if before < 0:
            return offset
        normal, original = self._changed[before]
        return original.start if offset < normal.stop else offset + original.stop - normal.stop

    def _stop(self, offset: int) -> int:
        index = bisect_left(self._normal_stops, offset)  # the first changed run that ends at or after it
        if index < len(self._changed):
            normal, original = self._changed[index]
            return original.stop if offset > normal.start else offset + original.start - normal.start
        if not self._changed:
            return offset
        normal, original = self._changed[-1]
        return offset + original.stop - normal.stop


def _runs(text: str) -> Iterator[str]:
    """Split the text before each starter that does not compose with the run before it."""
    start = 0
    for index in range(1, len(text)):
        character = text[index]
        if character < "\u0300" or (_is_starter(character) and not _composes(text[start:index], character)):
            yield text[start:index]
            start = index
    if text:
        yield text[start:]


def _is_starter(character: str) -> bool:
    """Return whether no mark is reordered across a character.

    A few characters of combining class 0 (U+0F73) are not starters here: they decompose into marks, which can be
    reordered.
    """
    return is_later(character) or unicodedata.combining(unicodedata.normalize("NFD", character)[0]) == 0


def _composes(run: str, starter: str) -> bool:
    return nfc(run + starter) != nfc(run) + nfc(starter)
