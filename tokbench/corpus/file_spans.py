"""Spans of files: cutting a large file so that its parts contain the same documents as the whole.

A span is given by arbitrary offsets: its start and its stop are moved forward to the next allowed position, so that
every byte is in exactly one span. Only the bytes around a position decide whether it is allowed.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

Cut = Literal["lines", "paragraphs", "words"]
"""Where a file may be cut: after a line; after a blank line; or after a line end that no word crosses."""

_WINDOW_BYTES = 1 << 20
_BEFORE, _AFTER = 8, 4
"""The bytes before and after a position that are examined."""


@dataclass(frozen=True, slots=True)
class FileSpan:
    """A part of a file.

    Attributes:
        start: the offset in the file from which the part begins at the next allowed position.
        stop: the same offset for the part that follows.
        size: the size of the whole file in bytes.
        cut: the allowed positions. Parquet files are cut at row groups instead.
    """

    start: int
    stop: int
    size: int
    cut: Cut


def bounds_of(stream: BinaryIO, span: FileSpan) -> tuple[int, int]:
    r"""Return the exact start and end of a span in a file.

    >>> from io import BytesIO
    >>> bounds_of(BytesIO(b"one\ntwo\nthree"), FileSpan(2, 7, 13, "lines"))
    (4, 8)
    """
    return _next_allowed(stream, span.start, span), _next_allowed(stream, span.stop, span)


def _next_allowed(stream: BinaryIO, offset: int, span: FileSpan) -> int:
    """Return the first allowed position at an offset or after it."""
    if offset <= 0:
        return 0
    is_allowed = _IS_ALLOWED[span.cut]
    position = offset - 1  # where a line end may be
    while position < span.size:
        base = max(position - _BEFORE, 0)
        stream.seek(base)
        window = stream.read(_WINDOW_BYTES)
        if not window:
            break
        is_last = base + len(window) >= span.size
        limit = len(window) if is_last else len(window) - _AFTER
        line_end = window.find(b"\n", position - base, limit)
        while line_end >= 0:
            if is_allowed(window, line_end + 1):
                return min(base + line_end + 1, span.size)
            line_end = window.find(b"\n", line_end + 1, limit)
        position = base + limit
    return span.size


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


_IS_ALLOWED: dict[Cut, Callable[[bytes, int], bool]] = {
    "lines": lambda _window, _place: True,
    "paragraphs": lambda window, place: window[:place].endswith((b"\n\n", b"\n\r\n")),
    "words": _is_between_words,
}
