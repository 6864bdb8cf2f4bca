"""The lines of a stream that is still being written."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedIOBase

_BLOCK = 1 << 18


class ArrivingLines:
    r"""The lines of a stream, with their ends, none of which waits for a later one.

    Attributes:
        is_next_there: whether the line behind the latest one has arrived.

    >>> from io import BytesIO
    >>> lines = ArrivingLines(BytesIO(b"a\nb\nc"))
    >>> [(line, lines.is_next_there) for line in lines]
    [(b'a\n', True), (b'b\n', False), (b'c', False)]
    """

    def __init__(self, stream: BufferedIOBase) -> None:
        self.is_next_there = False
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        unfinished: list[bytes] = []
        while block := self._stream.read1(_BLOCK):
            *ended, rest = block.split(b"\n")
            lines = [line + b"\n" for line in ended]
            if lines and unfinished:
                lines[0] = b"".join([*unfinished, lines[0]])
                unfinished = []
            if rest:
                unfinished.append(rest)
            for number, line in enumerate(lines, 1):
                self.is_next_there = number < len(lines)
                yield line
        if unfinished:
            yield b"".join(unfinished)
