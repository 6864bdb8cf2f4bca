"""Vocabularies and merges in blocks of bytes, from which Python objects are made only on demand; and limits on ids.

A table indexed by id is as long as the largest id, however few tokens there are.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, overload

from tokbench.errors import ModelFormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


class TokenTable(Sequence["bytes | None"]):
    """The bytes of each id; None for a gap, an id without a token.

    Opening a vocabulary of 200,000 tokens thus creates no Python object for each token.

    Attributes:
        block: the bytes of all ids, concatenated.
        starts: uint32[ids + 1]; id i has block[starts[i] : starts[i + 1]].
        gaps: the ids without a token; their bytes in the block are ignored.

    >>> table = TokenTable.of([b"a", None, b"bc"])
    >>> table[2], table[1], len(table)
    (b'bc', None, 3)
    """

    def __init__(self, block: bytes, starts: memoryview, gaps: Iterable[int] = ()) -> None:
        self.block = block
        self.starts = starts
        self.gaps = frozenset(gaps)

    @classmethod
    def of(cls, tokens: Iterable[bytes | None]) -> TokenTable:
        """Build the table from tokens in the order of their ids, None for a gap."""
        listed = list(tokens)
        lengths = (0 if token is None else len(token) for token in listed)
        return cls(
            b"".join(token for token in listed if token is not None),
            memoryview(array("I", accumulate(lengths, initial=0))),
            (id for id, token in enumerate(listed) if token is None),
        )

    def extended(self, size: int) -> TokenTable:
        """Return the table extended by gaps to a size, which is at least its own."""
        if size == len(self):
            return self
        starts = array("I", self.starts)
        starts.extend([len(self.block)] * (size - len(self)))
        return TokenTable(self.block, memoryview(starts), self.gaps.union(range(len(self), size)))

    def without(self, ids: Iterable[int]) -> TokenTable:
        """Return the table with gaps for some ids, and without gaps at the end."""
        gaps, size = self.gaps.union(ids), len(self)
        while size and size - 1 in gaps:
            size -= 1
        return TokenTable(self.block, self.starts[: size + 1], (id for id in gaps if id < size))

    def ids(self) -> dict[bytes, int]:
        """Return the ids of tokens; the last one for equal tokens.

        >>> TokenTable.of([b"a", None, b"bc"]).ids()
        {b'a': 0, b'bc': 2}
        """
        edges = self.starts.tolist()
        ids: dict[bytes, int] = {}
        for before, gap in pairwise([-1, *sorted(self.gaps), len(self)]):
            first = before + 1
            places = map(slice, edges[first:gap], edges[first + 1 : gap + 1])
            ids.update(zip(map(self.block.__getitem__, places), range(first, gap), strict=False))
        return ids

    def ranks(self) -> list[tuple[bytes, int]]:
        """Return the tokens with their ids."""
        return [(token, id) for id, token in enumerate(self) if token is not None]

    @property
    def num_tokens(self) -> int:
        """The number of ids that have a token."""
        return len(self) - len(self.gaps)

    def holds(self, id: int) -> bool:
        """Whether an id has a token."""
        return 0 <= id < len(self) and id not in self.gaps

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, id: int) -> bytes | None: ...
    @overload
    def __getitem__(self, id: slice) -> tuple[bytes | None, ...]: ...
    def __getitem__(self, id: int | slice) -> bytes | tuple[bytes | None, ...] | None:
        if isinstance(id, slice):
            return tuple(self[index] for index in range(*id.indices(len(self))))
        if not -len(self) <= id < len(self):
            raise IndexError(id)
        id %= len(self)
        return None if id in self.gaps else self.block[self.starts[id] : self.starts[id + 1]]

    def __iter__(self) -> Iterator[bytes | None]:
        tokens = (self.block[start:stop] for start, stop in pairwise(self.starts))
        if not self.gaps:
            return tokens
        return (None if id in self.gaps else token for id, token in enumerate(tokens))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TokenTable | tuple) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


class MergeTable(Sequence[tuple[int, int, int]]):
    """Merges in the order of their ranks, each as left, right and merged id.

    Attributes:
        numbers: uint32, three for each merge.

    >>> list(MergeTable(memoryview(array("I", [97, 98, 256, 256, 99, 257]))))
    [(97, 98, 256), (256, 99, 257)]
    """

    def __init__(self, numbers: memoryview) -> None:
        self.numbers = numbers

    def by_pair(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Return (left id, right id) → (rank, merged id).

        >>> MergeTable(memoryview(array("I", [97, 98, 256]))).by_pair()
        {(97, 98): (0, 256)}
        """
        numbers = self.numbers.tolist()
        pairs = zip(numbers[0::3], numbers[1::3], strict=True)
        return dict(zip(pairs, enumerate(numbers[2::3]), strict=True))

    def __len__(self) -> int:
        return len(self.numbers) // 3

    @overload
    def __getitem__(self, rank: int) -> tuple[int, int, int]: ...
    @overload
    def __getitem__(self, rank: slice) -> tuple[tuple[int, int, int], ...]: ...
    def __getitem__(self, rank: int | slice) -> tuple[int, int, int] | tuple[tuple[int, int, int], ...]:
        if isinstance(rank, slice):
            return tuple(self[index] for index in range(*rank.indices(len(self))))
        first = 3 * range(len(self))[rank]
        return self.numbers[first], self.numbers[first + 1], self.numbers[first + 2]

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        numbers = iter(self.numbers)
        return zip(numbers, numbers, numbers, strict=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MergeTable | tuple) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


_ALWAYS_ALLOWED = 1 << 18
"""Ids that are always accepted: as many as the largest vocabularies in use have, some tens of megabytes of tables."""
_IDS_PER_ENTRY = 16


def ids_held(num_entries: int) -> int:
    """Return the number of ids that a vocabulary of this many tokens may span, including gaps.

    The limit grows with the file, and so do tables. Real vocabularies have gaps, as before special tokens, but few.

    >>> ids_held(300), ids_held(200_000)
    (262144, 3200000)
    """
    return max(_ALWAYS_ALLOWED, _IDS_PER_ENTRY * num_entries)


def check_largest_id(largest: int, *, num_entries: int, path: Path | str) -> None:
    """Reject an id far above the number of tokens: 3 KB could demand gigabytes of tables. Raises `ModelFormatError`."""
    most = ids_held(num_entries)
    if largest >= most:
        raise ModelFormatError(
            path,
            f"ids below {most} for {num_entries:,} tokens",
            f"the id {largest}",
            hint="the file was damaged, or made to exhaust memory; vocabularies have few unused ids",
        )
