"""Choose what is held out: a tenth of each group by bytes, in blocks of lines, or the same lines of translations."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.progress import no_progress, watched
from tokbench.evaluation.holdout_plan import Plan, aligned_blocks, blocks_in, hash_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus

HELD_OUT = 10
"""One part in so many is held out."""

_CUT = 50
"""A document of more than one such part of its group is cut into blocks of lines."""


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
                for number, _, block in aligned_blocks(document, count, lines_before):
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
