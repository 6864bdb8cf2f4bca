"""What a pattern certainly matches: something wherever a text goes on, so that no part is left out; never nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from tokbench.opening.splitting.character_sets import NUM_CODE_POINTS, UnknownPatternError, members_of
from tokbench.opening.splitting.syntax import Ahead, Characters, Group, LineEnd, parsed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokbench.opening.splitting.syntax import Choices, Item


def matches_everywhere(pattern: str) -> bool:
    r"""Whether a pattern certainly matches something wherever a text is not at its end.

    It does if each character, whatever stands after it, is a match of some alternative.

    >>> matches_everywhere(r"\p{L}+|\s+(?!\S)|\s|[^\p{L}\s]+"), matches_everywhere(r"\p{L}+|\s+(?!\S)")
    (True, False)
    """
    matched = _alone(parsed(pattern))
    matched[0xD800:0xE000] = True  # no text holds them
    return bool(matched.all())


def ends_lines(pattern: str) -> bool:
    r"""Whether a pattern asks for the end of a line, which libraries mean differently.

    >>> ends_lines(r"\s+$|\s|\S")
    True
    """
    return _holds_line_end(parsed(pattern))


def takes_characters(pattern: str) -> bool:
    r"""Whether whatever a pattern matches certainly has characters; False also for one that is not understood.

    >>> takes_characters(r"^\s+|(?<=a)b"), takes_characters(r"\s*"), takes_characters(r"\b")
    (True, False, False)
    """
    try:
        return _take_some(parsed(_LOOKING.sub("", pattern)))
    except UnknownPatternError:
        return False


_LOOKING = re.compile(r"\(\?<[=!][^()]*\)|\\[bB]|(?<![\[\\])\^")
"""What looks behind, or at the place where it is: a match without it takes as many characters."""


def _take_some(choices: Choices) -> bool:
    return all(any(map(_takes_some, items)) for items in choices)


def _takes_some(item: Item) -> bool:
    if isinstance(item, Characters):
        return item.least > 0
    return isinstance(item, Group) and not item.is_optional and _take_some(item.choices)


def _alone(choices: Choices) -> NDArray[np.bool_]:
    """bool[0x110000], the characters that are a match of some choice by themselves, whatever is after them."""
    matched = np.zeros(NUM_CODE_POINTS, np.bool_)
    for items in choices:
        for place, item in enumerate(items):
            others = [*items[:place], *items[place + 1 :]]
            if all(map(_may_be_empty, others)):
                matched |= _of_one(item) & ~_taken_by(items[:place])
    return matched


def _of_one(item: Item) -> NDArray[np.bool_]:
    if isinstance(item, Characters) and item.least <= 1:
        return members_of(item.spelling)
    if isinstance(item, Group):
        return _alone(item.choices)
    return np.zeros(NUM_CODE_POINTS, np.bool_)


def _may_be_empty(item: Item) -> bool:
    if isinstance(item, Characters):
        return item.least == 0
    return isinstance(item, Group) and item.is_optional


def _taken_by(items: tuple[Item, ...]) -> NDArray[np.bool_]:
    """The characters that what stands before takes and does not give back: they are not left for the next item."""
    taken = np.zeros(NUM_CODE_POINTS, np.bool_)
    for item in items:
        if isinstance(item, Characters) and item.is_possessive:
            taken |= members_of(item.spelling)
    return taken


def _holds_line_end(choices: Choices) -> bool:
    return any(
        isinstance(item, LineEnd) or (isinstance(item, Group | Ahead) and _holds_line_end(item.choices))
        for items in choices
        for item in items
    )
