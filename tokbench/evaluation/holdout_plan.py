"""The held-out text of a corpus: whole documents, blocks of lines, or the same lines of translations; its choice."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from tokbench.core.progress import no_progress, watched
from tokbench.errors import CorpusError
from tokbench.evaluation.units import aligned_blocks, blocks_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus, Document

_T = TypeVar("_T")

KEPT, HELD, CUT = 0, 1, 2
"""Sides of a document: training, held out, or cut into blocks on both sides."""


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


HELD_OUT = 10
"""One part in this many is held out."""

_MOST_BYTES = 1 << 26
"""Maximum bytes of large documents that are kept in memory until all sizes are known."""

_CUT = 50
"""A document larger than its group's size divided by this is cut into blocks of lines."""


class Counts:
    """Counts of parts and bytes on both sides; the key False is the training side."""

    def __init__(self) -> None:
        self.numbers: Counter[bool] = Counter()
        self.sizes: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
        self._kinds: set[bool] = set()

    def add(self, group: str, num_bytes: int, *, is_held_out: bool, is_cut: bool) -> None:
        """Count a part."""
        self.numbers[is_held_out] += 1
        self.sizes[is_held_out][group] += num_bytes
        self._kinds.add(is_cut)

    @property
    def unit(self) -> str:
        """The unit that was held out: lines or documents."""
        if len(self._kinds) > 1:
            return "documents and blocks of lines"
        return "blocks of lines" if True in self._kinds else "documents"

    @property
    def text(self) -> str:
        """The number of parts in words."""
        number = self.numbers.total()
        if number == 1:
            return "1 document"
        return f"{number:,} {self.unit}{' (equal ones stay together)' if False in self._kinds else ''}"

    @property
    def shares(self) -> dict[str, float]:
        """Group → the held-out share of its bytes."""
        rest, held = self.sizes[False], self.sizes[True]
        return {group: held[group] / (held[group] + rest[group]) for group in sorted({*rest, *held})}


def choose(
    corpus: Corpus, lines: Mapping[str, int], *, seed: int, progress: Progress = no_progress
) -> tuple[Plan, Counts]:
    """Choose the held-out text, and count both sides.

    Documents that are small relative to their group are held out as a whole, duplicates together; of each larger
    one a tenth of its blocks of lines. For translations with the same number of lines, the same lines are held out.
    Without translations the corpus is read once, unless its large documents exceed the memory limit.

    Args:
        corpus: a corpus that can be read more than once.
        lines: group of translations → number of its lines.
        seed: seed of the choice.
        progress: called with the amount of work done.
    """

    def read(phase: str) -> Iterator[Document]:
        return watched(corpus.documents(), corpus, phase=phase, progress=progress)

    aligned = {count for count, languages in Counter(lines.values()).items() if languages > 1}
    groups: defaultdict[str, _Group] = defaultdict(_Group)
    large, in_order = _LargeTexts(), []
    for document in read("reading groups"):
        if lines.get(document.group) not in aligned:
            group = groups[document.group]
            size = group.add(document.text, seed=seed)
            if not aligned:
                large.add(group, document.text, size)
                in_order.append(document.group)
    blocks_of_lines: dict[int, Counter[int]] = {count: Counter() for count in aligned}
    if not aligned and large.texts is not None:
        for large_text in large.texts:
            large_text.group.cut(large_text.text, seed=seed)
    else:
        lines_before: Counter[str] = Counter()
        for document in read("cutting texts"):
            count = lines.get(document.group, 0)
            if count in aligned:
                for number, _, block in aligned_blocks(document, count, lines_before):
                    blocks_of_lines[count][number] += len(block.encode())
            else:
                groups[document.group].cut(document.text, seed=seed)
    held = [group.held_out() for group in groups.values()]
    plan = Plan(
        seed=seed,
        lines=lines,
        aligned={
            count: frozenset(_closest(_shuffled(sizes, key=f"{seed}:{count}"), total=sizes.total())[0])
            for count, sizes in blocks_of_lines.items()
        },
        blocks={digest: numbers for blocks, _ in held for digest, numbers in blocks.items()},
        documents=frozenset().union(*(documents for _, documents in held)),
    )
    return (
        (plan, _counts_of(plan, read("counting parts")))
        if aligned
        else _plan_with_sides(plan, groups, in_order)
    )


def _counts_of(plan: Plan, documents: Iterable[Document]) -> Counts:
    found = Counts()
    for document, part in plan.parts(documents):
        is_cut = part.line is not None
        found.add(document.group, len(part.text.encode()), is_held_out=part.is_held_out, is_cut=is_cut)
    return found


def _plan_with_sides(
    plan: Plan, groups: Mapping[str, _Group], in_order: Iterable[str]
) -> tuple[Plan, Counts]:
    """Return the plan with the sides of all documents, and the result of `_counts_of`, without reading again.

    Args:
        plan: a plan without translations.
        groups: all groups.
        in_order: the group of each document, in reading order.
    """
    found, sides = Counts(), bytearray()
    cut = {digest: sizes for group in groups.values() for digest, sizes in group.blocks.items()}
    documents = {name: zip(group.hashes, group.sizes, strict=True) for name, group in groups.items()}
    for name in in_order:
        digest, size = next(documents[name])
        if digest in cut:
            sides.append(CUT)
            for number, num_bytes in cut[digest].items():
                found.add(name, num_bytes, is_held_out=number in plan.blocks[digest], is_cut=True)
        else:
            is_held_out = digest in plan.documents
            sides.append(HELD if is_held_out else KEPT)
            found.add(name, size, is_held_out=is_held_out, is_cut=False)
    return replace(plan, sides=bytes(sides)), found


@dataclass(slots=True)
class _Group:
    """The sizes of a group's parts.

    Attributes:
        hashes: hashes of its documents.
        sizes: UTF-8 bytes of its documents.
        blocks: hash of a cut document → block → bytes.
        copies: hash of a cut document → number of documents with this hash.
        num_bytes: UTF-8 bytes of all its documents.
    """

    hashes: array[int] = field(default_factory=lambda: array("Q"))
    sizes: array[int] = field(default_factory=lambda: array("Q"))
    blocks: dict[int, Counter[int]] = field(default_factory=dict)
    copies: Counter[int] = field(default_factory=Counter)
    num_bytes: int = 0

    def add(self, text: str, *, seed: int) -> int:
        """Count a document, and return its size."""
        size = len(text.encode())
        self.hashes.append(hash_of(text, seed=seed))
        self.sizes.append(size)
        self.num_bytes += size
        return size

    def cut(self, text: str, *, seed: int) -> None:
        """Cut a document that is large relative to the group and has several blocks; all must have been counted."""
        if len(text.encode()) * _CUT <= self.num_bytes:
            return
        sizes = Counter({number: len(block.encode()) for number, _, block in blocks_in(text)})
        if len(sizes) > 1:
            digest = hash_of(text, seed=seed)
            self.blocks[digest] = sizes
            self.copies[digest] += 1

    def held_out(self) -> tuple[dict[int, frozenset[int]], frozenset[int]]:
        """Return the held-out blocks of cut documents by hash, and the hashes of held-out whole documents."""
        left = 0
        blocks = {}
        for digest, block_sizes in sorted(self.blocks.items()):
            sizes = Counter({number: size * self.copies[digest] for number, size in block_sizes.items()})
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


class _LargeText(NamedTuple):
    """A document that is large relative to the documents of its group that were read before it."""

    group: _Group
    text: str
    size: int

    @property
    def is_large(self) -> bool:
        """Whether it is still large relative to all documents of its group that have been read."""
        return self.size * _CUT > self.group.num_bytes


class _LargeTexts:
    """The texts that may have to be cut once all sizes are known.

    Attributes:
        texts: the texts; None if they exceed the memory limit.
    """

    def __init__(self) -> None:
        self.texts: list[_LargeText] | None = []
        self._num_bytes = 0

    def add(self, group: _Group, text: str, size: int) -> None:
        """Keep a text if it is large."""
        one = _LargeText(group, text, size)
        if self.texts is None or not one.is_large:
            return
        self.texts.append(one)
        self._num_bytes += size
        if self._num_bytes > _MOST_BYTES:
            self.texts = [large for large in self.texts if large.is_large]
            self._num_bytes = sum(large.size for large in self.texts)
            if 2 * self._num_bytes > _MOST_BYTES:
                self.texts = None


def _shuffled(sizes: Mapping[int, int], *, key: str) -> list[tuple[int, int]]:
    """Return blocks with their sizes, in a pseudo-random order that depends on the key."""
    return sorted(sizes.items(), key=lambda block: blake2b(f"{key}:{block[0]}".encode()).digest())


def _closest(parts: Iterable[tuple[int, int]], *, total: int) -> tuple[list[int], int]:
    """Choose parts whose sizes add up to about a tenth of a total; return them, and what is left of the total.

    Args:
        parts: the available parts with their sizes, in the order in which they are tried.
        total: ten times the wanted size.

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
    # Add one more part if that comes closer.
    if smallest is not None and smallest[1] * HELD_OUT <= 2 * left:
        chosen.append(smallest[0])
        left -= smallest[1] * HELD_OUT
    return chosen, left
