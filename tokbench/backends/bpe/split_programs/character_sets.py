r"""The members of the character sets in split patterns: classes, escapes, properties and the dot.

The `regex` package defines them, except for Oniguruma's \w; `unicode_agreement` finds characters on which libraries
may differ.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.character_agreement import NUM_CODE_POINTS
from tokbench.formats.set_operations import without_set_operations

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

MOST_SETS = 64

_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "e": "\x1b", "a": "\x07"}
CODE_POINT = re.compile(r"\\x\{([0-9A-Fa-f]{1,6})\}|\\u([0-9A-Fa-f]{4})|\\x([0-7][0-9A-Fa-f])")
PROPERTY = re.compile(r"\\[pP]\{\^?[A-Za-z]\w*\}")

_WORD = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]"
r"""Oniguruma's \w in a class."""
_LATIN_NUMBERS = "²³¹¼½¾"
r"""Characters that Oniguruma's \w matches, too, outside of a class."""
_BRACKETED = {
    "alnum": r"[\p{Alphabetic}\p{Nd}]",
    "alpha": r"\p{Alphabetic}",
    "blank": r"[\p{Zs}\t]",
    "cntrl": r"\p{Cc}",
    "digit": r"\p{Nd}",
    "lower": r"\p{Lowercase}",
    "punct": r"[\p{P}\p{S}]",
    "space": r"\s",
    "upper": r"\p{Uppercase}",
    "word": _WORD,
    "xdigit": r"[0-9A-Fa-f]",
}
"""The names of POSIX brackets, such as [:space:] → a class of the same characters in Oniguruma."""

BRACKET = re.compile(rf"\[:(\^?)({'|'.join(_BRACKETED)}):\]")


class UnknownPatternError(Exception):
    """Which part of a pattern is not understood."""


@dataclass
class CharacterSets:
    """The numbered sets of characters that programs use.

    Attributes:
        spellings: each set as a class in Oniguruma's syntax.
        members: bool[0x110000] for each set; shorter for sets of other things than characters.
    """

    spellings: list[str] = field(default_factory=list)
    members: list[NDArray[np.bool_]] = field(default_factory=list)

    def number(self, spelling: str, members: NDArray[np.bool_]) -> int:
        """Return the number of a set, adding it if new. Raises `UnknownPatternError` if there are too many."""
        if spelling not in self.spellings:
            if len(self.spellings) == MOST_SETS:
                raise UnknownPatternError("it has too many classes of characters")
            self.spellings.append(spelling)
            self.members.append(members)
        return self.spellings.index(spelling)

    def members_of(self, spelling: str) -> NDArray[np.bool_]:
        """Return the members of a set. Raises `UnknownPatternError` if it has none with this spelling."""
        if spelling not in self.spellings:
            raise UnknownPatternError(f"{spelling} is none of its classes of characters")
        return self.members[self.spellings.index(spelling)]

    def overlap(self, one: int, other: int) -> bool:
        """Whether two sets, given by number, have a character in common."""
        return bool((self.members[one] & self.members[other]).any())

    def masks(self) -> NDArray[np.uint64]:
        """Return uint64[0x110000]: for each character the bits of the sets that contain it."""
        size = self.members[0].size if self.members else NUM_CODE_POINTS
        masks = np.zeros(size, np.uint64)
        for first in range(0, len(self.members), 8):  # single bits of 64 would take ten times as long
            bits = np.zeros(size, np.uint8)
            for place, members in enumerate(self.members[first : first + 8]):
                bits |= members.view(np.uint8) << np.uint8(place)
            masks |= bits.astype(np.uint64) << np.uint64(first)
        return masks


@cache
def members_of(spelling: str) -> NDArray[np.bool_]:
    r"""Return bool[0x110000]: the characters in a class, an escape, or a dot.

    >>> [chr(i) for i in np.flatnonzero(members_of(r"[a-c[x]\t]"))]
    ['\t', 'a', 'b', 'c', 'x']
    >>> [chr(i) for i in np.flatnonzero(members_of("[a-d&&[^bx]]"))]
    ['a', 'c', 'd']
    >>> np.array_equal(members_of("[[:space:]]"), members_of(r"\s"))
    True
    """
    if spelling.startswith("(?i:"):
        return _in_both_cases(members_of(spelling[4:-1]))
    if spelling == ".":
        return ~members_of(r"\n")
    if spelling == r"\W":
        return ~members_of(r"\w")
    if spelling == r"\w":
        return _escaped(spelling) | members_of(f"[{_LATIN_NUMBERS}]")
    if not spelling.startswith("["):
        return _escaped(spelling)
    members, _ = _class_members(spelling, 0)
    return members


def _class_members(text: str, at: int) -> tuple[NDArray[np.bool_], int]:
    """Return the members of the class that begins at an index of a text, and the index after it."""
    members = np.zeros(NUM_CODE_POINTS, np.bool_)
    in_all = ~members  # the intersection of the operands of && so far
    at += 1
    is_negative = text[at] == "^"
    at += is_negative
    while text[at] != "]":
        if text.startswith("&&", at):
            in_all &= members
            members = np.zeros(NUM_CODE_POINTS, np.bool_)
            at += 2
            continue
        if found := BRACKET.match(text, at):
            named = members_of(_BRACKETED[found[2]])
            members |= ~named if found[1] else named
            at = found.end()
            continue
        if text[at] == "[":
            inner, at = _class_members(text, at)
            members |= inner
            continue
        low, at = _element(text, at)
        single = _code_point(low)
        if text[at] == "-" and text[at + 1] != "]":
            high, stop = _element(text, at + 1)
            top = _code_point(high)
            if single is None or top is None or text[at + 1] == "[" or top < single:
                raise UnknownPatternError("a class contains a range that is not understood")
            members[single : top + 1] = True
            at = stop
        elif single is not None:
            members[single] = True
        else:
            members |= _escaped(low)
    members &= in_all
    return (~members if is_negative else members), at + 1


def _element(text: str, at: int) -> tuple[str, int]:
    """Return a class's next character or escape sequence, and the index after it."""
    if text[at] != "\\":
        return text[at], at + 1
    found = CODE_POINT.match(text, at) or PROPERTY.match(text, at)
    end = at + 2 if found is None else found.end()
    return text[at:end], end


def _code_point(element: str) -> int | None:
    """Return the code point of an element that is a single character, else None."""
    if not element.startswith("\\"):
        return ord(element)
    if found := CODE_POINT.fullmatch(element):
        return int(next(filter(None, found.groups())), 16)
    if len(element) == 2 and element[1] not in "sSdDwW":
        return ord(_ESCAPES.get(element[1], element[1]))
    return None


@cache
def _escaped(element: str) -> NDArray[np.bool_]:
    single = _code_point(element)
    if single is not None:
        members = np.zeros(NUM_CODE_POINTS, np.bool_)
        if single >= NUM_CODE_POINTS:
            raise UnknownPatternError("it names a character that does not exist")
        members[single] = True
        return members
    if element == r"\w":
        return members_of(_WORD)
    if element[1] in "SDW":
        return ~_escaped("\\" + element[1].lower())
    if element[1] == "P" or element.startswith(r"\p{^"):
        if element.startswith(r"\P{^"):
            raise UnknownPatternError("it negates a property twice")
        return ~_escaped(r"\p{" + element[3:].removeprefix("^"))
    return members_for_regex(element)


@cache
def members_for_regex(spelling: str) -> NDArray[np.bool_]:
    r"""Return the same as `members_of`, as the `regex` package defines it, with set operations as in tiktoken.

    >>> members_for_regex(r"\w")[0x200D], members_of(r"\w")[0x200D]
    (np.True_, np.False_)
    """
    import regex

    members = np.zeros(NUM_CODE_POINTS, np.bool_)
    try:
        found = regex.compile(without_set_operations(spelling) + "+").finditer(_all_characters())
    except regex.error:
        raise UnknownPatternError(f"it contains {spelling}") from None
    for run in found:
        # Positions after the surrogates, which no text contains, are not code points.
        for start, stop in _without_surrogates(run.start(), run.end()):
            members[start:stop] = True
    return members


def _without_surrogates(start: int, stop: int) -> Iterable[tuple[int, int]]:
    gap = 0xE000 - 0xD800
    if start < 0xD800:
        yield start, min(stop, 0xD800)
    if stop > 0xD800:
        yield max(start, 0xD800) + gap, stop + gap


@cache
def _all_characters() -> str:
    codes = np.concatenate([np.arange(0xD800), np.arange(0xE000, NUM_CODE_POINTS)])
    data: bytes = codes.astype("<u4").tobytes()
    return data.decode("utf-32-le")


def _in_both_cases(members: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Extend an ASCII set by the other cases of its letters, two of which are beyond ASCII."""
    both = members.copy()
    for letter in "abcdefghijklmnopqrstuvwxyz":
        if members[ord(letter)] or members[ord(letter.upper())]:
            both[[ord(letter), ord(letter.upper())]] = True
            if letter in "sk":
                both[{"s": 0x17F, "k": 0x212A}[letter]] = True
    return both
