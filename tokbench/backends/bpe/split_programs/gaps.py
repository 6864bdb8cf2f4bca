"""Whether a pattern certainly matches at every position, so that no text is left out, and never the empty string."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from tokbench.backends.bpe.split_programs.character_sets import UnknownPatternError
from tokbench.backends.bpe.split_programs.syntax import (
    NO_LIMIT,
    ONIGURUMA,
    Ahead,
    Characters,
    Group,
    LineEnd,
    parsed,
)
from tokbench.core.character_agreement import NUM_CODE_POINTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tokbench.backends.bpe.split_programs.syntax import Choices, Dialect, Item


def matches_everywhere(pattern: str, *, dialect: Dialect = ONIGURUMA) -> bool:
    r"""Whether a pattern certainly matches at every position before a text's end.

    That holds if every character by itself, whatever follows it, is a match of some alternative.

    >>> matches_everywhere(r"\p{L}+|\s+(?!\S)|\s|[^\p{L}\s]+"), matches_everywhere(r"\p{L}+|\s+(?!\S)")
    (True, False)
    """
    matched = matched_alone(parsed(pattern, dialect=dialect), dialect.members_of, size=NUM_CODE_POINTS)
    matched[0xD800:0xE000] = True  # no text contains surrogates
    return bool(matched.all())


def matched_alone(
    choices: Choices, members_of: Callable[[str], NDArray[np.bool_]], *, size: int
) -> NDArray[np.bool_]:
    r"""Return bool[size]: the characters at which a parsed pattern certainly matches, whatever follows them.

    Args:
        choices: the pattern.
        members_of: the spelling of a set → bool[size].
        size: the number of characters, or of ranges of characters.

    >>> found = matched_alone(parsed(r"a|b(?=c)|c+d?"), ONIGURUMA.members_of, size=NUM_CODE_POINTS)
    >>> [chr(i) for i in np.flatnonzero(found)]
    ['a', 'c']
    """
    return _Alone(members_of, size).matched(choices)


def ends_lines(pattern: str, *, dialect: Dialect = ONIGURUMA) -> bool:
    r"""Whether a pattern may match the end of a line, which libraries define differently.

    A dollar after a possessive repetition that takes line breaks, too, only matches the end of the text.

    >>> ends_lines(r"\s+$|\s|\S"), ends_lines(r"\s++$|\s|\S")
    (True, False)
    """
    return _holds_line_end(parsed(pattern, dialect=dialect), dialect)


def takes_characters(pattern: str) -> bool:
    r"""Whether every match of a pattern certainly has characters; False also if the pattern is not understood.

    >>> takes_characters(r"^\s+|(?<=a)b"), takes_characters(r"\s*"), takes_characters(r"\b")
    (True, False, False)
    """
    try:
        return _take_some(parsed(_LOOKING.sub("", pattern)))
    except UnknownPatternError:
        return False


def takes_one_character(pattern: str) -> bool:
    r"""Whether every match of a pattern is one character, whatever is beside it; False also if it is not understood.

    >>> takes_one_character("[‘’]"), takes_one_character(r"\s+"), takes_one_character("a(?=b)")
    (True, False, False)
    """
    try:
        choices = parsed(pattern)
    except UnknownPatternError:
        return False
    return all(
        len(items) == 1 and isinstance(item := items[0], Characters) and (item.least, item.most) == (1, 1)
        for items in choices
    )


_LOOKING = re.compile(r"\(\?<[=!][^()]*\)|\\[bB]|(?<![\[\\])\^")
"""Lookbehinds and zero-width assertions: without them, a match takes as many characters."""


def _take_some(choices: Choices) -> bool:
    return all(any(map(_takes_some, items)) for items in choices)


def _takes_some(item: Item) -> bool:
    if isinstance(item, Characters):
        return item.least > 0
    return isinstance(item, Group) and not item.is_optional and _take_some(item.choices)


class _Alone:
    """Finds the characters that a pattern matches by themselves, whatever follows them."""

    def __init__(self, members_of: Callable[[str], NDArray[np.bool_]], size: int) -> None:
        self._members_of = members_of
        self._size = size

    def matched(self, choices: Choices) -> NDArray[np.bool_]:
        """Return bool[size]: the characters that some choice matches so."""
        matched = np.zeros(self._size, np.bool_)
        for items in choices:
            for place, item in enumerate(items):
                others = [*items[:place], *items[place + 1 :]]
                if all(map(_may_be_empty, others)):
                    matched |= self._matched_by(item) & ~self._taken_by(items[:place])
        return matched

    def _matched_by(self, item: Item) -> NDArray[np.bool_]:
        if isinstance(item, Characters) and item.least <= 1:
            return self._members_of(item.spelling)
        if isinstance(item, Group):
            return self.matched(item.choices)
        return np.zeros(self._size, np.bool_)

    def _taken_by(self, items: tuple[Item, ...]) -> NDArray[np.bool_]:
        """Return the characters that preceding possessive items take and do not give back to the next item."""
        taken = np.zeros(self._size, np.bool_)
        for item in items:
            if isinstance(item, Characters) and item.is_possessive:
                taken |= self._members_of(item.spelling)
        return taken


def _may_be_empty(item: Item) -> bool:
    if isinstance(item, Characters):
        return item.least == 0
    return isinstance(item, Group) and item.is_optional


def _holds_line_end(choices: Choices, dialect: Dialect) -> bool:
    """Whether some dollar does not follow a repetition that leaves no line break before it."""

    def takes_line_breaks(item: Item) -> bool:
        if not isinstance(item, Characters) or not item.is_possessive or item.most != NO_LIMIT:
            return False
        return bool(dialect.members_of(item.spelling)[ord("\n")])

    for items in choices:
        for place, item in enumerate(items):
            if isinstance(item, LineEnd) and not (place and takes_line_breaks(items[place - 1])):
                return True
            if isinstance(item, Group | Ahead) and _holds_line_end(item.choices, dialect):
                return True
    return False
