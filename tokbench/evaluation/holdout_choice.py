"""Choose what is held out: a tenth of each group by bytes, in blocks of lines, or the same lines of translations."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tokbench.core.progress import no_progress, watched
from tokbench.errors import CorpusError
from tokbench.evaluation.alignment import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus, Document

_T = TypeVar("_T")

HELD_OUT = 10
"""One part in so many is held out."""

_CUT = 50
"""A document of more than one such part of its group is cut into blocks of lines."""


KEPT, HELD, CUT = 0, 1, 2
"""Sides of a document: to learn from, held out, and both, in blocks."""

_BLOCKS_WANTED = 100
_LONGEST_BLOCK = 20
_PIECES_WANTED = 20
_SHORTEST_PIECE, _LONGEST_PIECE = 200, 2000
"""Characters of a line that are a line by themselves: a corpus may have no line ends at all."""


@dataclass(frozen=True, slots=True)
class Part:
    """A block of a document, or all of it.

    Attributes:
        text: never empty.
        line: the number of its first line; None for a document that was not cut.
        is_held_out: the side that it is on.
    """

    text: str
    line: int | None
    is_held_out: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """The documents and blocks that are held out.

    Attributes:
        seed: chose it.
        lines: the lines of each group of translations.
        aligned: lines of a translation → the blocks of these that are held out of every language that has as many.
        blocks: hash of a document that is cut → its blocks that are held out.
        documents: hashes of the whole documents that are held out.
        sides: what of each document is held out, in the order of reading, so that whole ones are not hashed again:
            `KEPT`, `HELD` or `CUT`; None where that is not known.
    """

    seed: int
    lines: Mapping[str, int]
    aligned: Mapping[int, frozenset[int]]
    blocks: Mapping[int, frozenset[int]]
    documents: frozenset[int]
    sides: bytes | None = None

    def parts(self, documents: Iterable[Document]) -> Iterator[tuple[Document, Part]]:
        """The parts of documents, each with its document. Raises `CorpusError` as `same_number`."""
        if self.sides is not None:
            for document, side in same_number(documents, self.sides):
                for part in self.parts_of(document.text, side):
                    yield document, part
            return
        lines_before: Counter[str] = Counter()
        for document in documents:
            count = self.lines.get(document.group, 0)
            if count in self.aligned:
                # The number of a line decides, counted through all documents of the language.
                chosen = self.aligned[count]
                for number, line, block in _aligned_blocks(document, count, lines_before):
                    yield document, Part(block, line, number in chosen)
            else:
                # The text itself decides, so that it does not matter where its file lies.
                digest = hash_of(document.text, seed=self.seed)
                side = CUT if digest in self.blocks else HELD if digest in self.documents else KEPT
                for part in self.parts_of(document.text, side):
                    yield document, part

    def parts_of(self, text: str, side: int) -> Iterator[Part]:
        """The parts of a document that is no translation."""
        if side != CUT:
            yield Part(text, None, side == HELD)
            return
        chosen = self.blocks[hash_of(text, seed=self.seed)]
        for number, line, block in blocks_in(text):
            yield Part(block, line, number in chosen)


def same_number(items: Iterable[_T], sides: Sequence[int]) -> Iterator[tuple[_T, int]]:
    """What is read with its sides. Raises `CorpusError` where the corpus has more or fewer documents than before."""
    for item, side in zip_longest(items, sides):
        if item is None or side is None:
            raise CorpusError(
                "the text changed while it was being read",
                hint="run it again when nothing writes to the text",
            )
        yield item, side


def hash_of(text: str, *, seed: int) -> int:
    """A 64-bit hash of a text, keyed by the seed."""
    digest = blake2b(text.encode(), digest_size=8, key=f"{seed}".encode()[:64]).digest()
    return int.from_bytes(digest, "big")


def plan_of(corpus: Corpus, lines: Mapping[str, int], *, seed: int, progress: Progress = no_progress) -> Plan:
    """Choose what is held out.

    Documents that are small beside their group are held out whole, equal ones together; of each larger one a
    tenth of its blocks of lines. Of translations that have the same number of lines the same lines are held out.

    Args:
        corpus: one that can be read more than once.
        lines: of each group of translations.
        seed: chooses.
        progress: told how far it is.
    """
    aligned = {count for count, languages in Counter(lines.values()).items() if languages > 1}
    groups: defaultdict[str, _Group] = defaultdict(_Group)
    for document in watched(corpus.documents(), corpus, phase="reading groups", progress=progress):
        if lines.get(document.group) not in aligned:
            groups[document.group].add(document.text, seed=seed)
    blocks_of_lines: dict[int, Counter[int]] = {count: Counter() for count in aligned}
    lines_before: Counter[str] = Counter()
    if aligned or any(group.has_large_ones for group in groups.values()):
        for document in watched(corpus.documents(), corpus, phase="cutting texts", progress=progress):
            count = lines.get(document.group, 0)
            if count in aligned:
                for number, _, block in _aligned_blocks(document, count, lines_before):
                    blocks_of_lines[count][number] += len(block.encode())
            else:
                groups[document.group].cut(document.text, seed=seed)
    held = [group.held_out() for group in groups.values()]
    return Plan(
        seed=seed,
        lines=lines,
        aligned={
            count: frozenset(_closest(_shuffled(sizes, key=f"{seed}:{count}"), total=sizes.total())[0])
            for count, sizes in blocks_of_lines.items()
        },
        blocks={digest: numbers for blocks, _ in held for digest, numbers in blocks.items()},
        documents=frozenset().union(*(documents for _, documents in held)),
    )


@dataclass(slots=True)
class _Group:
    """The sizes of a group's parts.

    Attributes:
        hashes: of its documents.
        sizes: their UTF-8 bytes.
        blocks: hash of a document that is cut → block → bytes, of all documents of that hash.
    """

    hashes: array[int] = field(default_factory=lambda: array("Q"))
    sizes: array[int] = field(default_factory=lambda: array("Q"))
    blocks: dict[int, Counter[int]] = field(default_factory=dict)
    num_bytes: int = 0

    def add(self, text: str, *, seed: int) -> None:
        """Count a document."""
        self.hashes.append(hash_of(text, seed=seed))
        self.sizes.append(len(text.encode()))
        self.num_bytes += self.sizes[-1]

    @property
    def has_large_ones(self) -> bool:
        """Whether a document is large beside all of them."""
        return max(self.sizes) * _CUT > self.num_bytes

    def cut(self, text: str, *, seed: int) -> None:
        """Cut a document that is large beside all of them, where it has blocks; called once they are counted."""
        if len(text.encode()) * _CUT <= self.num_bytes:
            return
        sizes = Counter({number: len(block.encode()) for number, _, block in blocks_in(text)})
        if len(sizes) > 1:
            self.blocks.setdefault(hash_of(text, seed=seed), Counter()).update(sizes)

    def held_out(self) -> tuple[dict[int, frozenset[int]], frozenset[int]]:
        """The blocks of documents that are cut, by hash, and the hashes of whole documents."""
        left = 0
        blocks = {}
        for digest, sizes in sorted(self.blocks.items()):
            numbers, left = _closest(_shuffled(sizes, key=f"{digest}"), total=sizes.total() + left)
            blocks[digest] = frozenset(numbers)
        hashes, inverse = np.unique(np.array(self.hashes, np.uint64), return_inverse=True)
        summed = np.bincount(inverse, weights=np.array(self.sizes, np.float64)).astype(np.int64)
        whole = [
            (digest, size)
            for digest, size in zip(hashes.tolist(), summed.tolist(), strict=True)
            if digest not in self.blocks
        ]
        documents, _ = _closest(whole, total=sum(size for _, size in whole) + left)
        return blocks, frozenset(documents)


def _aligned_blocks(
    document: Document, count: int, lines_before: Counter[str]
) -> Iterator[tuple[int, int, str]]:
    first = lines_before[document.group]
    lines_before.update(lines_of([document], {document.group}))
    return blocks_of(document.text, size=block_size(count), first=first)


def _shuffled(sizes: Mapping[int, int], *, key: str) -> list[tuple[int, int]]:
    """Blocks with their sizes, in an order that the key decides."""
    return sorted(sizes.items(), key=lambda block: blake2b(f"{key}:{block[0]}".encode()).digest())


def _closest(parts: Iterable[tuple[int, int]], *, total: int) -> tuple[list[int], int]:
    """The first parts whose sizes come close to a tenth of a total, and what is left of the total.

    Args:
        parts: what it may be made of, with its size, in the order in which it is tried.
        total: ten times the size that is wanted.

    >>> _closest([(7, 30), (3, 9), (5, 1)], total=100), _closest([(7, 20), (3, 15)], total=100)
    (([3, 5], 0), ([3], -50))
    """
    chosen, left = [], total
    smallest: tuple[int, int] | None = None
    for part, size in parts:
        if size * HELD_OUT <= left:
            chosen.append(part)
            left -= size * HELD_OUT
        elif smallest is None or size < smallest[1]:
            smallest = part, size
    # One more where that comes closer.
    if smallest is not None and smallest[1] * HELD_OUT <= 2 * left:
        chosen.append(smallest[0])
        left -= smallest[1] * HELD_OUT
    return chosen, left


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
