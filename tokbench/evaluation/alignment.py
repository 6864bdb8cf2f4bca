"""Alignment of two texts: the parts in which they differ, by a minimal number of edits."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from tokbench.metrics.edit_table import FOUND, LOST, SAME
from tokbench.metrics.kernel import current_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

WINDOW = 2048
"""Maximum number of characters of both texts that are aligned at once."""
_OVERLAP = 512
"""Number of characters at the end of a window that are aligned again in the next one, if texts are longer."""
_SHORT_WINDOW = 256
_ANCHOR = 16
"""Number of equal characters at which a search for the end of a long difference tries to align again."""
_FAR = 4096
"""Length of that search, in both texts."""
_STRIDE = 64
_RUNS = re.compile(b"[%c]+|[^%c]+" % (SAME, SAME))
"""Steps that agree, or do not."""


class Difference(NamedTuple):
    """Neighbouring edits: a part of a text, the part of the other text in its place, and their edits.

    Attributes:
        lost: the part of the text.
        found: the part of the other text.
        edits: (lost, found) characters, "" for none, in order; together they are `lost` and `found`.
    """

    lost: str
    found: str
    edits: tuple[tuple[str, str], ...]


def alignment(text: str, other: str) -> Iterator[int | Difference]:
    """Yield, in order, the parts in which two texts differ, and the numbers of equal characters between them.

    The number of edits is minimal if, without their common prefix and suffix, neither text is longer than `WINDOW`
    characters. Longer texts are aligned window by window: the edits turn one text into the other, but may be more
    than necessary. This takes linear time.

    >>> [part if isinstance(part, int) else (part.lost, part.found) for part in alignment("abcdef", "axcdefg")]
    [1, ('b', 'x'), 4, ('', 'g')]
    """
    i = _common_prefix(text, 0, other, 0)
    suffix = _common_suffix(text, other, most=min(len(text), len(other)) - i)
    end, other_end = len(text) - suffix, len(other) - suffix
    text, other = text[:end], other[:other_end]
    j = equal = i
    edits: list[tuple[str, str]] = []
    while i < end or j < other_end:
        for run in _RUNS.finditer(_next_steps(text, i, other, j)):
            steps = run[0]
            if steps[0] == SAME:
                if edits:
                    yield _difference(edits)
                    edits = []
                i, j, equal = i + len(steps), j + len(steps), equal + len(steps)
                continue
            if equal:
                yield equal
                equal = 0
            for step in steps:
                edits.append(("" if step == FOUND else text[i], "" if step == LOST else other[j]))
                i, j = i + (step != FOUND), j + (step != LOST)
        if agreeing := _common_prefix(text, i, other, j):
            if edits:
                yield _difference(edits)
                edits = []
            equal += agreeing
        i, j = i + agreeing, j + agreeing
    if edits:
        yield _difference(edits)
    if equal + suffix:
        yield equal + suffix


def _difference(edits: list[tuple[str, str]]) -> Difference:
    if len(edits) == 1:
        return Difference(*edits[0], tuple(edits))
    lost, found = zip(*edits, strict=True)
    return Difference("".join(lost), "".join(found), tuple(edits))


def _next_steps(text: str, i: int, other: str, j: int) -> bytes:
    """Return the first steps of an alignment from two positions on."""
    if i == len(text) or j == len(other):
        return bytes([LOST]) * (len(text) - i) + bytes([FOUND]) * (len(other) - j)
    if len(text) - i <= WINDOW and len(other) - j <= WINDOW:
        return current_kernel().edit_steps(text[i:], other[j:], None)
    short = _first_steps(text, i, other, j, _SHORT_WINDOW)
    if _num_edits(short) * 2 <= len(short):
        return short
    steps = _first_steps(text, i, other, j, WINDOW)
    if _num_edits(steps) * 2 > len(steps) and (gap := _long_gap(text, i, other, j)) is not None:
        lost, found = gap
        return current_kernel().edit_steps(text[i : i + lost], other[j : j + found], None)
    return steps


def _first_steps(text: str, i: int, other: str, j: int, window: int) -> bytes:
    """Return the best alignment of a window of both texts, without its end, which depends on what follows."""
    lengths = len(text) - i, len(other) - j
    steps = current_kernel().edit_steps(text[i : i + window], other[j : j + window], lengths)
    return steps[: max(len(steps) * (WINDOW - _OVERLAP) // WINDOW, 1)]


def _num_edits(steps: bytes) -> int:
    return len(steps) - steps.count(SAME)


def _long_gap(text: str, i: int, other: str, j: int) -> tuple[int, int] | None:
    """Return how many characters of both texts must be skipped for most of what follows to agree; None if none do."""
    for lost in range(0, min(_FAR, len(text) - i - _ANCHOR), _ANCHOR):
        position = other.find(text[i + lost : i + lost + _ANCHOR], j, j + _FAR)
        if position >= 0:
            following = _first_steps(text, i + lost, other, position, _SHORT_WINDOW)
            return (lost, position - j) if _num_edits(following) * 4 <= len(following) else None
    return None


def _common_prefix(text: str, i: int, other: str, j: int) -> int:
    """Return the length of the common prefix from two positions on."""
    start = i
    while text[i : i + _STRIDE] == other[j : j + _STRIDE] and i + _STRIDE <= len(text):
        i, j = i + _STRIDE, j + _STRIDE
    for one, two in zip(islice(text[i : i + _STRIDE], _STRIDE), other[j : j + _STRIDE], strict=False):
        if one != two:
            break
        i += 1
    return i - start


def _common_suffix(text: str, other: str, *, most: int) -> int:
    count = 0
    while count < most and text[-1 - count] == other[-1 - count]:
        count += 1
    return count
