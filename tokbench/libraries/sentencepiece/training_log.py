"""Documents as the lines that SentencePiece trains on, so that it drops none of them.

The library takes a text line by line, leaves out those that are too long or hold U+2585 (▅, which
it uses for itself), and tells nobody. Lines are cut here so that it has no reason to.
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
    """The lines of documents, and what was seen on the way; to be iterated once.

    Attributes:
        documents: read so far, empty ones left out.
        num_bytes: their UTF-8 bytes.
        lines: given so far.
        cut: lines that were too long and were cut.
        left_out: lines that were left out as longer than `longest`.
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
        """The lines as UTF-8, without their ends.

        Raises:
            TrainingError: a document is not a string.
            TextError: one has no UTF-8 form.
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
        """What a user should know of how the text was read."""
        notes = []
        if self.cut:
            lines = counted(self.cut, "line")
            notes.append(
                f"{lines} of more than {LONGEST_LINE:,} bytes {was_or_were(self.cut)} cut at a space"
            )
        if self.left_out:
            lines = f"{counted(self.left_out, 'line')} {was_or_were(self.left_out)}"
            notes.append(f"{lines} left out as longer than max_sentence_length={self.longest}")
        return tuple(notes)

    def notes_with_draw(self, wanted: int) -> tuple[str, ...]:
        """The same, where this many lines were wanted; 0 for all."""
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
    """So many of the lines, any set of them as probable as another, in their order; all where there are no more.

    The library draws too, and differently in every process, whatever seed it is given.

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
    """A line in parts of at most this many bytes, cut before a space where there is one; none if it is empty.

    >>> list(cut_line(b"one two three", longest=8))
    [b'one two', b' three']
    """
    start = 0
    while len(data) - start > longest:
        stop = data.rfind(b" ", start + 1, start + longest + 1)
        if stop < 0:
            stop = start + longest
            while data[stop] & 0xC0 == 0x80:  # within a character
                stop -= 1
        yield data[start:stop]
        start = stop
    if start < len(data):
        yield data[start:]
