"""Splitting of documents into lines of which the SentencePiece trainer drops none.

The library reads a text line by line, and silently skips lines that are too long or contain U+2585 (▅, which
it reserves). This module splits such lines, so that the library skips none.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokbench.core.base import utf8
from tokbench.core.special_tokens import SpecialTokenFinder
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.wording import counted, was_or_were
from tokbench.errors import TrainingError
from tokbench.libraries.sentencepiece.config import LONGEST_LINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_RESERVED = "\u2585"


@dataclass(slots=True)
class Lines:
    """An iterable over the lines of documents, with counts; it can be iterated once.

    Attributes:
        documents: the number of non-empty documents read so far.
        num_bytes: the number of their UTF-8 bytes.
        lines: the number of lines yielded so far.
        cut: the number of lines that were split because they were too long.
        left_out: the number of lines that were skipped because they were longer than `longest`.
    """

    texts: Iterable[str]
    special_tokens: Sequence[str] = ()
    longest: int | None = None
    documents: int = field(default=0, init=False)
    num_bytes: int = field(default=0, init=False)
    lines: int = field(default=0, init=False)
    cut: int = field(default=0, init=False)
    left_out: int = field(default=0, init=False)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines as UTF-8, without line ends.

        Raises:
            TrainingError: a document is not a string.
            TextError: a document contains a lone surrogate.
        """
        finder = SpecialTokenFinder(self.special_tokens)
        for number, text in enumerate(self.texts):
            if not isinstance(text, str):
                raise TrainingError(f"document {number} is {type(text).__name__}, where a string is needed")
            self.num_bytes += len(utf8(text))
            self.documents += bool(text)
            for part in finder.cut(text, special=SpecialPolicy.ENCODE):
                if not part.is_special:
                    yield from self._lines(part.text)

    def notes(self) -> tuple[str, ...]:
        """Return notes for the user about lines that were split or skipped."""
        notes = []
        if self.cut:
            lines = counted(self.cut, "line")
            notes.append(
                f"{lines} of more than {LONGEST_LINE:,} bytes {was_or_were(self.cut)} cut, at a space if possible"
            )
        if self.left_out:
            lines = f"{counted(self.left_out, 'line')} {was_or_were(self.left_out)}"
            notes.append(f"{lines} left out as longer than max_sentence_length={self.longest}")
        return tuple(notes)

    def notes_with_draw(self, wanted: int) -> tuple[str, ...]:
        """Return the notes, including one about a random sample of `wanted` lines; 0 for all lines."""
        if not 0 < wanted < self.lines:
            return self.notes()
        return (*self.notes(), f"{wanted:,} of {self.lines:,} lines {was_or_were(wanted)} drawn at random")

    def _lines(self, text: str) -> Iterator[bytes]:
        for line in text.replace(_RESERVED, "\n").split("\n"):
            data = line.rstrip("\r").encode()
            if self.longest is not None and len(data) > self.longest:
                self.left_out += 1
                continue
            if len(data) > LONGEST_LINE:
                self.cut += 1
            for part in cut_line(data, longest=LONGEST_LINE):
                self.lines += 1
                yield part


def drawn(lines: Iterable[bytes], *, size: int, total: int, seed: int) -> Iterator[bytes]:
    """Yield a uniform random sample of `size` lines in their order, or all lines if there are no more.

    The library can sample, too, but differently in every process, whatever the seed.

    Source: Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S.

    >>> list(drawn([b"a", b"b", b"c", b"d"], size=2, total=4, seed=1))
    [b'a', b'd']
    """
    generator = random.Random(seed)  # noqa: S311 -- a draw, not a secret
    wanted = size
    for left, line in zip(range(total, 0, -1), lines, strict=True):
        if generator.random() * left < wanted:
            wanted -= 1
            yield line


def cut_line(data: bytes, *, longest: int) -> Iterator[bytes]:
    """Split a line into parts of at most `longest` bytes, before a space if possible; an empty line has no parts.

    >>> list(cut_line(b"one two three", longest=8))
    [b'one two', b' three']
    """
    start = 0
    while len(data) - start > longest:
        stop = data.rfind(b" ", start + 1, start + longest + 1)
        if stop < 0:
            stop = start + longest
            while data[stop] & 0xC0 == 0x80:  # inside a character
                stop -= 1
        yield data[start:stop]
        start = stop
    if start < len(data):
        yield data[start:]
