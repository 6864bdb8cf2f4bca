"""Runs: lengths of consecutive stretches of characters with their origins."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from tokbench.chat.rendered import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Runs = tuple[tuple[int, Origin], ...]
"""Lengths with origins: no length is 0, and neighbours have different origins."""


def uniform(length: int, origin: Origin) -> Runs:
    """Return the runs of a text with a single origin.

    >>> uniform(2, Origin(0, "content"))
    ((2, Origin(message=0, field='content')),)
    >>> uniform(0, Origin())
    ()
    """
    return ((length, origin),) if length else ()


def cut(runs: Runs, start: int, stop: int) -> Runs:
    """Return the runs of the characters from `start` up to but excluding `stop`, both within the text.

    >>> cut(((2, Origin()), (3, Origin(0, "content"))), 1, 3)
    ((1, Origin(message=None, field=None)), (1, Origin(message=0, field='content')))
    """
    if start >= stop:
        return ()
    if len(runs) == 1:
        return ((stop - start, runs[0][1]),)
    found = []
    begin = 0
    for length, origin in runs:
        end = begin + length
        if end > start:
            if begin >= stop:
                break
            found.append((min(end, stop) - max(begin, start), origin))
        begin = end
    return tuple(found)


def join(parts: Iterable[Runs]) -> Runs:
    """Return the runs of concatenated texts.

    >>> join([((2, Origin()),), (), ((3, Origin()),)])
    ((5, Origin(message=None, field=None)),)
    """
    joined: list[tuple[int, Origin]] = []
    for runs in parts:
        if joined and runs and joined[-1][1] == runs[0][1]:
            length, origin = joined[-1]
            joined[-1] = (length + runs[0][0], origin)
            joined.extend(runs[1:])
        else:
            joined.extend(runs)
    return tuple(joined)


def spread(runs: Runs) -> list[Origin]:
    """Return the origin of each character."""
    return [origin for length, origin in runs for _ in range(length)]


def gather(origins: Iterable[Origin]) -> Runs:
    """Return the runs of characters with these origins: the inverse of `spread`.

    >>> gather(spread(((2, Origin()), (1, Origin(0, "content")))))
    ((2, Origin(message=None, field=None)), (1, Origin(message=0, field='content')))
    """
    return tuple((len(list(same)), origin) for origin, same in groupby(origins))


def resize(runs: Runs, sizes: Sequence[int]) -> Runs:
    """Return the runs after each character has been replaced by as many as `sizes` says.

    >>> resize(((1, Origin()), (1, Origin(0, "content"))), [0, 2])
    ((2, Origin(message=0, field='content')),)
    """
    begin = 0
    resized = []
    for length, origin in runs:
        resized.append(uniform(sum(sizes[begin : begin + length]), origin))
        begin += length
    return join(resized)
