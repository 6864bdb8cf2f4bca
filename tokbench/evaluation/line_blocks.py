"""Cut a text into blocks of lines, so that some of them can be held out."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCKS_WANTED = 100
_LONGEST_BLOCK = 20
_PIECES_WANTED = 20
_SHORTEST_PIECE, _LONGEST_PIECE = 200, 2000
"""Characters of a line that are a line by themselves: a corpus may have no line ends at all."""


def block_size(lines: int) -> int:
    """Lines of a block, of a text of so many lines.

    >>> block_size(60), block_size(500), block_size(100_000)
    (1, 5, 20)
    """
    return max(1, min(lines // _BLOCKS_WANTED, _LONGEST_BLOCK))


def blocks_in(text: str) -> Iterator[tuple[int, int, str]]:
    """The blocks of a text by itself, a hundred or more where it has as many lines; as `blocks_of`.

    A line is cut that is longer than a twentieth of the text, or than 2,000 characters.
    """
    longest = max(_SHORTEST_PIECE, min(len(text) // _PIECES_WANTED, _LONGEST_PIECE))
    size = block_size(sum(1 for _ in pieces_of(text, longest=longest)))
    return blocks_of(text, size=size, longest=longest)


def blocks_of(
    text: str, *, size: int, first: int = 0, longest: int | None = None
) -> Iterator[tuple[int, int, str]]:
    r"""A text in blocks of lines, with their line ends: the block's number, its first line's, the block.

    Args:
        text: all of it.
        size: lines of a block.
        first: the number of its first line.
        longest: characters of a line that are a line by themselves; None for any number.

    >>> list(blocks_of("a\nb\nc", size=2))
    [(0, 0, 'a\nb\n'), (1, 2, 'c')]
    >>> list(blocks_of("a\nb\nc", size=2, first=3))
    [(1, 0, 'a\n'), (2, 1, 'b\nc')]
    """
    start = 0
    numbered = enumerate(pieces_of(text, longest=longest or len(text)), start=first)
    for number, lines in groupby(numbered, key=lambda line: line[0] // size):
        block = [line for _, line in lines]
        yield number, start, "".join(block)
        start += len(block)


def pieces_of(text: str, *, longest: int) -> Iterator[str]:
    r"""The lines of a text with their ends; longer ones in pieces that end at a space where they can.

    >>> list(pieces_of("a\n\nb", longest=9)), list(pieces_of("one two", longest=5))
    (['a\n', '\n', 'b'], ['one', ' two'])
    """
    start = 0
    while start < len(text):
        stop = text.find("\n", start, start + longest) + 1
        if not stop and len(text) - start > longest:
            stop = text.rfind(" ", start + 1, start + longest)
            stop = stop if stop > start else start + longest
        stop = stop or len(text)
        yield text[start:stop]
        start = stop
