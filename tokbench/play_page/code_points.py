"""Code points, and the representation of sets of them on the page."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def code_points() -> Iterable[int]:
    """Return all code points that a text can contain, in order."""
    return chain(range(0xD800), range(0xE000, 0x110000))


def ranges(codes: Iterable[int]) -> list[int]:
    """Return the first and last of each range of ascending code points, flattened.

    >>> ranges([1, 2, 3, 7])
    [1, 3, 7, 7]
    """
    return list(chain.from_iterable(_each_range(codes)))


def _each_range(codes: Iterable[int]) -> Iterator[tuple[int, int]]:
    first = last = -1
    for code in codes:
        if code != last + 1 or first < 0:
            if first >= 0:
                yield first, last
            first = code
        last = code
    if first >= 0:
        yield first, last
