"""Parts of files: where a large file can be cut, so that its parts hold the same documents as the whole.

A span is given by offsets that nobody has looked at: both it and the next one move them to the first good place after,
so that every byte is in exactly one span. Nothing but the bytes around the place decides which it is.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

Cut = Literal["lines", "paragraphs", "words"]
"""Where a file is cut: after a line; after a blank line; or after a line end that no word reaches across."""

_WINDOW_BYTES = 1 << 20
_BEFORE, _AFTER = 8, 4
"""Bytes around a place that are looked at."""


@dataclass(frozen=True, slots=True)
class FileSpan:
    """A part of a file.

    Attributes:
        start: an offset in its bytes, from which on the part begins.
        stop: one from which on the next part begins.
        size: bytes of the whole file.
        cut: what is a good place. In Parquet files it is where a row group begins.
    """

    start: int
    stop: int
    size: int
    cut: Cut


def bounds_of(stream: BinaryIO, span: FileSpan) -> tuple[int, int]:
    r"""Where a span begins and ends in a file.

    >>> from io import BytesIO
    >>> bounds_of(BytesIO(b"one\ntwo\nthree"), FileSpan(2, 7, 13, "lines"))
    (4, 8)
    """
    return _place_from(stream, span.start, span), _place_from(stream, span.stop, span)


def _place_from(stream: BinaryIO, offset: int, span: FileSpan) -> int:
    """The first good place at an offset or after it."""
    if offset <= 0:
        return 0
    is_good = _IS_GOOD[span.cut]
    position = offset - 1  # of a line end
    while position < span.size:
        base = max(position - _BEFORE, 0)
        stream.seek(base)
        window = stream.read(_WINDOW_BYTES)
        if not window:
            break
        is_last = base + len(window) >= span.size
        limit = len(window) if is_last else len(window) - _AFTER
        found = window.find(b"\n", position - base, limit)
        while found >= 0:
            if is_good(window, found + 1):
                return min(base + found + 1, span.size)
            found = window.find(b"\n", found + 1, limit)
        position = base + limit
    return span.size


def _is_after_blank_line(window: bytes, place: int) -> bool:
    return window[:place].endswith((b"\n\n", b"\n\r\n"))


def _is_between_words(window: bytes, place: int) -> bool:
    r"""Whether a line ends here, with anything but white space before its "\n", and the next begins with a letter.

    >>> _is_between_words(b"one\ntwo", 4), _is_between_words(b"one \ntwo", 5), _is_between_words(b"one\n two", 4)
    (True, False, False)
    """
    before = window[max(place - 1 - _AFTER, 0) : place - 1].decode(errors="replace")[-1:]
    after = window[place : place + _AFTER].decode(errors="replace")[:1]
    return (
        before not in ("", "\ufffd")
        and not before.isspace()
        and unicodedata.category(after or "\n")[0] == "L"
    )


_IS_GOOD: dict[Cut, Callable[[bytes, int], bool]] = {
    "lines": lambda _window, _place: True,
    "paragraphs": _is_after_blank_line,
    "words": _is_between_words,
}
