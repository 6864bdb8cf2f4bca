"""The held-out text of a corpus: whole documents, blocks of lines, or the same lines of translations."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, TypeVar

from tokbench.errors import CorpusError
from tokbench.evaluation.alignment import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tokbench.corpus import Document

_T = TypeVar("_T")

KEPT, HELD, CUT = 0, 1, 2
"""Sides of a document: training, held out, or cut into blocks on both sides."""

_BLOCKS_WANTED = 100
_LONGEST_BLOCK = 20
_PIECES_WANTED = 20
_SHORTEST_PIECE, _LONGEST_PIECE = 200, 2000
"""Limits, in characters, on the pieces that long lines are cut into: a corpus may have no line ends at all."""


@dataclass(frozen=True, slots=True)
class Part:
    """A block of a document, or a whole document.

    Attributes:
        text: the text.
        line: number of its first line; None for a document that was not cut.
        is_held_out: whether it is on the held-out side.
    """

    text: str
    line: int | None
    is_held_out: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """The documents and blocks that are held out.

    Attributes:
        seed: seed of the choice.
        lines: group of translations → number of its lines.
        aligned: number of lines → the held-out blocks of every language with this number of lines.
        blocks: hash of a cut document → its held-out blocks.
        documents: hashes of the held-out whole documents.
        sides: side of each document in reading order (`KEPT`, `HELD` or `CUT`), so that whole documents need not be
            hashed again; None if unknown.
    """

    seed: int
    lines: Mapping[str, int]
    aligned: Mapping[int, frozenset[int]]
    blocks: Mapping[int, frozenset[int]]
    documents: frozenset[int]
    sides: bytes | None = None

    def parts(self, documents: Iterable[Document]) -> Iterator[tuple[Document, Part]]:
        """Yield the parts of documents, each with its document. Raises `CorpusError`, see `same_number`."""
        if self.sides is not None:
            for document, side in same_number(documents, self.sides):
                for part in self.parts_of(document.text, side):
                    yield document, part
            return
        lines_before: Counter[str] = Counter()
        for document in documents:
            count = self.lines.get(document.group, 0)
            if count in self.aligned:
                # The line number decides, counted across all documents of the language.
                chosen = self.aligned[count]
                for number, line, block in aligned_blocks(document, count, lines_before):
                    yield document, Part(block, line, number in chosen)
            else:
                # The text itself decides, so that the path of its file does not matter.
                digest = hash_of(document.text, seed=self.seed)
                side = CUT if digest in self.blocks else HELD if digest in self.documents else KEPT
                for part in self.parts_of(document.text, side):
                    yield document, part

    def parts_of(self, text: str, side: int) -> Iterator[Part]:
        """Yield the parts of a document that is not a translation."""
        if side != CUT:
            yield Part(text, None, side == HELD)
            return
        chosen = self.blocks[hash_of(text, seed=self.seed)]
        for number, line, block in blocks_in(text):
            yield Part(block, line, number in chosen)


def same_number(items: Iterable[_T], sides: Sequence[int]) -> Iterator[tuple[_T, int]]:
    """Yield items with their sides. Raises `CorpusError` if the numbers of items and sides differ."""
    for item, side in zip_longest(items, sides):
        if item is None or side is None:
            raise CorpusError(
                "the text changed while it was being read",
                hint="run it again when nothing writes to the text",
            )
        yield item, side


def hash_of(text: str, *, seed: int) -> int:
    """Return a 64-bit hash of a text, keyed by the seed."""
    digest = blake2b(text.encode(), digest_size=8, key=f"{seed}".encode()[:64]).digest()
    return int.from_bytes(digest, "big")


def aligned_blocks(
    document: Document, count: int, lines_before: Counter[str]
) -> Iterator[tuple[int, int, str]]:
    """Yield the blocks of a translation, numbered across all documents of its language; see `blocks_of`.

    Args:
        document: a document of the language.
        count: number of lines of the language.
        lines_before: language → lines in the documents so far; the lines of this document are added.
    """
    first = lines_before[document.group]
    lines_before.update(lines_of([document], {document.group}))
    return blocks_of(document.text, size=block_size(count), first=first)


def block_size(lines: int) -> int:
    """Return the number of lines per block for a text with this many lines.

    >>> block_size(60), block_size(500), block_size(100_000)
    (1, 5, 20)
    """
    return max(1, min(lines // _BLOCKS_WANTED, _LONGEST_BLOCK))


def blocks_in(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the blocks of a single text, a hundred or more if it has enough lines; see `blocks_of`.

    Lines longer than a twentieth of the text (at least 200, at most 2,000 characters) are cut.
    """
    longest = max(_SHORTEST_PIECE, min(len(text) // _PIECES_WANTED, _LONGEST_PIECE))
    size = block_size(sum(1 for _ in pieces_of(text, longest=longest)))
    return blocks_of(text, size=size, longest=longest)


def blocks_of(
    text: str, *, size: int, first: int = 0, longest: int | None = None
) -> Iterator[tuple[int, int, str]]:
    r"""Divide a text into blocks of lines with their line ends; yield block number, index of its first line, block.

    Args:
        text: the whole text.
        size: number of lines per block.
        first: number of the first line of the text.
        longest: length in characters at which longer lines are cut; None for no limit.

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
    r"""Yield the lines of a text with their line ends; longer lines in pieces, cut before a space if possible.

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
