"""Sequences whose items are made in order, as far as they are read: kept, or made anew each time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Item_co = TypeVar("Item_co", covariant=True)


class _LikeTuple(Sequence[Item_co]):
    """A sequence that equals the tuple of its items."""

    def __eq__(self, other: object) -> bool:
        return (
            tuple(iter(self)) == tuple(iter(other))
            if isinstance(other, _LikeTuple | tuple)
            else NotImplemented
        )

    def __hash__(self) -> int:
        return hash(tuple(iter(self)))

    def __repr__(self) -> str:
        return repr(tuple(iter(self)))

    def __reduce__(self) -> tuple[type[tuple[Item_co, ...]], tuple[tuple[Item_co, ...]]]:
        return tuple, (tuple(iter(self)),)


class AsRead(_LikeTuple[Item_co]):
    """A sequence of known length that makes an item when it, or a later one, is first read.

    It equals the tuple of its items.

    Args:
        size: the number of items.
        items: makes them, in order.

    >>> squares = AsRead(3, (number**2 for number in range(3)))
    >>> len(squares), squares[1], squares == (0, 1, 4)
    (3, 1, True)
    """

    def __init__(self, size: int, items: Iterator[Item_co]) -> None:
        self._size = size
        self._coming = items
        self._made: list[Item_co] = []

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> Item_co: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Item_co, ...]: ...

    def __getitem__(self, index: int | slice) -> Item_co | tuple[Item_co, ...]:
        places = range(self._size)[index]
        if isinstance(places, int):
            self._read(places + 1)
            return self._made[places]
        self._read(max(places, default=-1) + 1)
        return tuple(self._made[place] for place in places)

    def __iter__(self) -> Iterator[Item_co]:
        made, place = self._made, 0
        while place < self._size:
            if place == len(made):
                self._read(place + 1)
            yield made[place]
            place += 1

    def _read(self, count: int) -> None:
        if count > len(self._made):
            self._made.extend(islice(self._coming, count - len(self._made)))


class Recomputed(_LikeTuple[Item_co]):
    """A sequence that makes its items anew each time it is read, and keeps only their number.

    It equals the tuple of its items. `tuple(sequence)` asks for the length first, `tuple(iter(sequence))` does not.

    Args:
        make: makes the items, in order.
        size: returns their number; without it, they are made to be counted.

    >>> squares = Recomputed(lambda: (number**2 for number in range(3)))
    >>> len(squares), squares[1], squares == (0, 1, 4)
    (3, 1, True)
    """

    def __init__(
        self, make: Callable[[], Iterator[Item_co]], *, size: Callable[[], int] | None = None
    ) -> None:
        self._make = make
        self._size = size
        self._counted: int | None = None

    def __iter__(self) -> Iterator[Item_co]:
        return self._make()

    def __len__(self) -> int:
        if self._counted is None:
            self._counted = sum(1 for _ in self) if self._size is None else self._size()
        return self._counted

    @overload
    def __getitem__(self, index: int) -> Item_co: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Item_co, ...]: ...

    def __getitem__(self, index: int | slice) -> Item_co | tuple[Item_co, ...]:
        places = range(len(self))[index]
        if isinstance(places, int):
            return next(islice(self, places, None))
        made = tuple(islice(self, max(places, default=-1) + 1))
        return tuple(made[place] for place in places)
