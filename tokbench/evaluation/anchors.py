"""Places at which a long text and its decoding certainly correspond, between which they are aligned."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LENGTH = 24
"""Number of characters of an anchor."""
_STEP = 64
"""Distance of the characters of the other text at which anchors are looked for."""
_REPEATED = -1


def parts_between_anchors(text: str, other: str, *, size: int) -> Iterator[tuple[str, str]]:
    """Cut two texts at corresponding places into parts of some `size` characters of the text.

    They are cut where the same characters follow that occur only once in both, and in the same order as other cuts:
    as in Bram Cohen's patience diff. Parts are longer where there are no such places. This takes linear time, but for a
    logarithm.

    >>> words = [f"word {number}" for number in range(1000)]
    >>> parts = list(parts_between_anchors(" ".join(words), " ".join(words[:300] + words[600:]), size=1000))
    >>> len(parts), [one == two for one, two in parts].count(False)
    (7, 1)
    """
    cuts = [(0, 0)]
    for place, other_place in _rising(_anchors(text, other)):
        if place - cuts[-1][0] >= size:
            cuts.append((place, other_place))
    for (start, other_start), (stop, other_stop) in pairwise([*cuts, (len(text), len(other))]):
        yield text[start:stop], other[other_start:other_stop]


def _anchors(text: str, other: str) -> list[tuple[int, int]]:
    """Return the places of both texts at which the same characters follow, in the order of the text."""
    places: dict[str, int] = {}
    for place in range(0, len(other) - _LENGTH + 1, _STEP):
        anchor = other[place : place + _LENGTH]
        places[anchor] = _REPEATED if anchor in places else place
    found: dict[int, int] = {}
    for place in range(len(text) - _LENGTH + 1):
        other_place = places.get(text[place : place + _LENGTH], _REPEATED)
        if other_place != _REPEATED:
            found[other_place] = _REPEATED if other_place in found else place
    return sorted((place, other_place) for other_place, place in found.items() if place != _REPEATED)


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return as many of the pairs as possible whose second numbers rise; the first ones do."""
    lasts: list[int] = []  # by length, the least second number that ends so many rising pairs
    ends: list[int] = []
    before: list[int] = []
    for index, (_, second) in enumerate(pairs):
        length = bisect_left(lasts, second)
        before.append(ends[length - 1] if length else -1)
        lasts[length : length + 1] = [second]
        ends[length : length + 1] = [index]
    rising = []
    index = ends[-1] if ends else -1
    while index >= 0:
        rising.append(pairs[index])
        index = before[index]
    return rising[::-1]
