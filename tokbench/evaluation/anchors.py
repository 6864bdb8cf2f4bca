"""Places at which a long text and its decoding certainly correspond, between which they are aligned."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

_LENGTH = 24
"""Number of characters of an anchor."""
_STEP = 64
"""Distance of the characters of the other text at which anchors are looked for."""
_REPEATED = -1
_FACTOR = 0x9E3779B97F4A7C15
"""An odd number whose bits are as random as those of the golden ratio."""
_HASH_BITS = 22
_BLOCK = 1 << 18
"""Number of characters whose hashes are computed at once, a multiple of the distance of anchors."""


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
    for place in _candidates(text, other):
        other_place = places.get(text[place : place + _LENGTH], _REPEATED)
        if other_place != _REPEATED:
            found[other_place] = _REPEATED if other_place in found else place
    return sorted((place, other_place) for other_place, place in found.items() if place != _REPEATED)


def _candidates(text: str, other: str) -> Iterator[int]:
    """Yield the places of a text at which an anchor may begin: those with the hash of one, which few others have."""
    import numpy as np

    is_anchor = np.zeros(1 << _HASH_BITS, np.bool_)
    for hashes in map(_hashes, _blocks(other)):
        is_anchor[hashes[::_STEP]] = True
    for number, hashes in enumerate(map(_hashes, _blocks(text))):
        yield from (np.flatnonzero(is_anchor[hashes]) + number * _BLOCK).tolist()


def _blocks(text: str) -> Iterator[str]:
    """Yield the text in blocks, each with the rest of the anchors that begin in it."""
    for start in range(0, len(text), _BLOCK):
        yield text[start : start + _BLOCK + _LENGTH - 1]


def _hashes(text: str) -> NDArray[np.uint64]:
    """Return a hash of the characters of an anchor's length from each place on."""
    import numpy as np

    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
    hashes, factor = np.zeros(max(len(codes) - _LENGTH + 1, 0), np.uint64), np.uint64(_FACTOR)
    for offset in range(_LENGTH):
        hashes = hashes * factor + codes[offset : offset + len(hashes)]
    return hashes * factor >> np.uint64(64 - _HASH_BITS)


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
