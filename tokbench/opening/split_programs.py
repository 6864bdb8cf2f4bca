r"""Split patterns of the kind that vocabularies have, as programs for the kernel (native/bpe/split_program.hpp).

What a pattern means is what Oniguruma, as `tokenizers` has it, makes of it. Understood are characters, classes
with classes in them, properties, groups, alternatives, greedy and possessive repetition of single characters, an
optional group, and lookahead; whatever else a pattern holds makes it unknown here. Which characters are in a class
is asked of the `regex` package, and where libraries may differ, `unicode_agreement` finds out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

NUM_CODE_POINTS = 0x110000
_NO_LIMIT = 0xFFFF_FFFF
_MOST_SETS = 64
_MOST_OPERATIONS = 1024


class UnknownPatternError(Exception):
    """What in a pattern is not understood."""


class Kind(IntEnum):
    """The operations, by the kernel's numbers."""

    MATCH = 0
    CHARACTERS = 1
    POSSESSIVE = 2
    EITHER = 3
    AHEAD = 4
    NOT_AHEAD = 5
    LINE_END = 6


@dataclass
class CharacterSets:
    """The sets of characters that programs ask for, by their numbers.

    Attributes:
        spellings: each set as a class that Oniguruma understands.
        members: bool[0x110000] for each of them.
    """

    spellings: list[str] = field(default_factory=list)
    members: list[NDArray[np.bool_]] = field(default_factory=list)

    def number(self, spelling: str, members: NDArray[np.bool_]) -> int:
        """The number of a set. Raises `UnknownPatternError` where there are too many."""
        if spelling not in self.spellings:
            if len(self.spellings) == _MOST_SETS:
                raise UnknownPatternError("it has too many classes of characters")
            self.spellings.append(spelling)
            self.members.append(members)
        return self.spellings.index(spelling)

    def overlap(self, one: int, other: int) -> bool:
        """Whether two sets, by their numbers, have a character in common."""
        return bool((self.members[one] & self.members[other]).any())

    def masks(self) -> NDArray[np.uint64]:
        """uint64[0x110000], a bit for each set that a character is in."""
        masks = np.zeros(NUM_CODE_POINTS, np.uint64)
        for number, members in enumerate(self.members):
            masks[members] |= np.uint64(1 << number)
        return masks


class Program(NamedTuple):
    """A pattern for the kernel.

    Attributes:
        operations: uint32[n, 6], see `SplitOperation` in split_program.hpp.
        first: the bits of the sets that a match can begin with.
    """

    operations: NDArray[np.uint32]
    first: int


def program_of(pattern: str, sets: CharacterSets) -> Program:
    r"""The program of a regular expression.

    Args:
        pattern: in Oniguruma's dialect.
        sets: to which those of the pattern are added.

    Raises:
        UnknownPatternError: it holds something that is not understood, or matches the empty string.

    >>> program_of(r"\p{N}{1,3}", CharacterSets()).operations.tolist()
    [[2, 0, 1, 3, 1, 0], [0, 0, 0, 0, 0, 0]]
    """
    return _Assembler(sets).program(_Parser(pattern).parsed())


def program_of_text(text: str, sets: CharacterSets) -> Program:
    """The program that matches one text. Raises `UnknownPatternError` for an empty one."""
    return program_of("".join(rf"\x{{{ord(character):X}}}" for character in text), sets)


# --- what a pattern is made of ------------------------------------------------------------------


class _Characters(NamedTuple):
    spelling: str
    least: int = 1
    most: int = 1
    is_possessive: bool = False


class _Group(NamedTuple):
    choices: tuple[tuple[_Item, ...], ...]
    is_optional: bool = False


class _Ahead(NamedTuple):
    choices: tuple[tuple[_Item, ...], ...]
    is_negative: bool


class _LineEnd(NamedTuple):
    """A dollar: the end of the text, or of a line in it."""


_Item = _Characters | _Group | _Ahead | _LineEnd
_Choices = tuple[tuple[_Item, ...], ...]

_REPEATED = re.compile(r"\{(\d{1,4})(?:(,)(\d{1,4})?)?\}|[?*+]")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "e": "\x1b", "a": "\x07"}
_CODE_POINT = re.compile(r"\\x\{([0-9A-Fa-f]{1,6})\}|\\u([0-9A-Fa-f]{4})|\\x([0-7][0-9A-Fa-f])")
_PROPERTY = re.compile(r"\\[pP]\{\^?[A-Za-z]\w*\}")
_TWO_IN_ONE = frozenset(["ss", "st", "ff", "fi", "fl"])
"""Letters side by side that Oniguruma, ignoring case, also finds in one character, as ß."""


class _Parser:
    """A pattern, read from left to right."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0

    def parsed(self) -> _Choices:
        choices = self._choices(ignore_case=False)
        if self._at != len(self._text):
            raise UnknownPatternError("a parenthesis is closed that is not open")
        return choices

    def _choices(self, *, ignore_case: bool) -> _Choices:
        choices: list[tuple[_Item, ...]] = []
        items: list[_Item] = []
        before = ""  # the letter before, where case is ignored
        while self._at < len(self._text) and self._text[self._at] != ")":
            if self._takes("|"):
                choices.append(tuple(items))
                items, before = [], ""
                continue
            start = self._at
            items.append(self._item(ignore_case=ignore_case))
            letter = self._text[start : self._at].lower()
            if ignore_case and before + letter in _TWO_IN_ONE:
                raise UnknownPatternError("it ignores the case of letters that are one character together")
            before = letter
        return (*choices, tuple(items))

    def _item(self, *, ignore_case: bool) -> _Item:
        for opening, ignores, ahead in _GROUPS:
            if self._takes(opening):
                choices = self._choices(ignore_case=ignore_case or ignores)
                if not self._takes(")"):
                    raise UnknownPatternError("a parenthesis is not closed")
                if ahead is not None:
                    self._not_repeated()
                    return _Ahead(choices, is_negative=ahead == "!")
                return self._repeated_group(choices)
        if self._takes("$"):
            self._not_repeated()
            return _LineEnd()
        if self._text.startswith("(?", self._at):
            raise UnknownPatternError(f"it holds {self._text[self._at : self._at + 4]!r}")
        return self._repeated(self._set(ignore_case=ignore_case))

    def _repeated_group(self, choices: _Choices) -> _Item:
        if self._takes("?"):
            self._not_repeated()
            return _Group(choices, is_optional=True)
        only = choices[0][0] if len(choices) == 1 and len(choices[0]) == 1 else None
        if isinstance(only, _Characters) and (only.least, only.most) == (1, 1):
            return self._repeated(only.spelling)
        self._not_repeated()
        return _Group(choices)

    def _repeated(self, spelling: str) -> _Characters:
        found = _REPEATED.match(self._text, self._at)
        if found is None:
            if self._text.startswith("{", self._at):
                raise UnknownPatternError("it holds a brace")
            return _Characters(spelling)
        self._at = found.end()
        sign = found.group()
        if sign in _SIGNS:
            least, most = _SIGNS[sign]
            is_possessive = self._takes("+")
            self._not_repeated()
            return _Characters(spelling, least, most, is_possessive)
        self._not_repeated()
        least = int(found[1])
        most = least if not found[2] else int(found[3]) if found[3] else _NO_LIMIT
        if most < least or not most:
            raise UnknownPatternError(f"it holds {sign}")
        return _Characters(spelling, least, most)

    def _not_repeated(self) -> None:
        if self._at < len(self._text) and self._text[self._at] in "?*+{":
            raise UnknownPatternError(f"it repeats in a way that is not understood: {self._text[self._at]!r}")

    def _takes(self, text: str) -> bool:
        is_there = self._text.startswith(text, self._at)
        self._at += len(text) * is_there
        return is_there

    def _set(self, *, ignore_case: bool) -> str:
        """The spelling of the set of characters that begins here."""
        start = self._at
        character = self._text[start]
        if character == "[":
            self._class()
        elif character == "\\":
            self._escape()
        elif character in "^$*+?{}":
            raise UnknownPatternError(f"it holds {character!r}")
        else:
            self._at += 1
        spelling = self._text[start : self._at]
        if not ignore_case:
            return spelling if character in "[\\." else f"[{spelling}]" if spelling != "]" else r"[\]]"
        if "\\" in spelling or not spelling.isascii() or "-" in spelling:
            raise UnknownPatternError("it ignores case where that is not understood")
        return f"(?i:{spelling if character == '[' else f'[{spelling}]'})"

    def _class(self) -> None:
        """Steps over a class, which may hold others."""
        self._at += 1
        self._takes("^")
        if self._text.startswith("]", self._at):
            raise UnknownPatternError("a class begins with a bracket")
        while not self._takes("]"):
            if self._at >= len(self._text):
                raise UnknownPatternError("a class is not closed")
            if self._text.startswith(("&&", "[:", "--", "~~", "||"), self._at):
                raise UnknownPatternError(f"it holds {self._text[self._at : self._at + 2]!r} in a class")
            if self._text[self._at] == "[":
                self._class()
            elif self._text[self._at] == "\\":
                self._escape()
            else:
                self._at += 1

    def _escape(self) -> None:
        """Steps over what begins with a backslash and is a set of characters."""
        rest = self._text[self._at : self._at + 2]
        found = _CODE_POINT.match(self._text, self._at) or _PROPERTY.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
        elif len(rest) == 2 and (rest[1] in "sSdDwWnrtfvea" or (rest[1].isascii() and not rest[1].isalnum())):
            self._at += 2
        else:
            raise UnknownPatternError(f"it holds {rest!r}")


_GROUPS = (("(?:", False, None), ("(?i:", True, None), ("(?!", False, "!"), ("(?=", False, "="))
_SIGNS = {"?": (0, 1), "*": (0, _NO_LIMIT), "+": (1, _NO_LIMIT)}


# --- its operations -----------------------------------------------------------------------------


_WITH_TWO = (Kind.EITHER, Kind.AHEAD, Kind.NOT_AHEAD)
"""The operations that lead to two others."""


class _Assembler:
    """Lays operations out so that each leads to later ones."""

    def __init__(self, sets: CharacterSets) -> None:
        self._sets = sets
        self._rows: list[list[int]] = []

    def program(self, choices: _Choices) -> Program:
        first, can_be_empty = self._first(choices)
        if can_be_empty:
            raise UnknownPatternError("it matches the empty string")
        # Built from the end, so that what an operation leads to is there; turned round afterwards.
        end = self._add([Kind.MATCH, 0, 0, 0, 0, 0])
        self._add_choices(choices, end)
        last = len(self._rows) - 1
        if last >= _MOST_OPERATIONS:
            raise UnknownPatternError("it is too long")
        turned = [
            row
            if row[0] == Kind.MATCH
            else [*row[:4], last - row[4], (last - row[5]) * (row[0] in _WITH_TWO)]
            for row in reversed(self._rows)
        ]
        return Program(np.array(turned, np.uint32), first)

    def _add(self, row: list[int]) -> int:
        self._rows.append(row)
        return len(self._rows) - 1

    def _add_choices(self, choices: _Choices, behind: int) -> int:
        """The number of the operation that tries each choice, and leads to the one behind."""
        entry = self._add_items(choices[-1], behind)
        for items in reversed(choices[:-1]):
            tried = self._add_items(items, behind)
            entry = self._add([Kind.EITHER, 0, 0, 0, tried, entry])
        return entry

    def _add_items(self, items: Iterable[_Item], behind: int) -> int:
        for item in reversed(tuple(items)):
            behind = self._add_item(item, behind)
        return behind

    def _add_item(self, item: _Item, behind: int) -> int:
        if isinstance(item, _Characters):
            number = self._number(item.spelling)
            needs_all = item.is_possessive or self._needs_no_fewer(number, behind)
            kind = Kind.POSSESSIVE if needs_all else Kind.CHARACTERS
            return self._add([kind, number, item.least, item.most, behind, 0])
        if isinstance(item, _Ahead):
            match = self._add([Kind.MATCH, 0, 0, 0, 0, 0])
            ahead = self._add_choices(item.choices, match)
            return self._add([Kind.NOT_AHEAD if item.is_negative else Kind.AHEAD, 0, 0, 0, behind, ahead])
        if isinstance(item, _LineEnd):
            return self._add([Kind.LINE_END, 0, 0, 0, behind, 0])
        entry = self._add_choices(item.choices, behind)
        return self._add([Kind.EITHER, 0, 0, 0, entry, behind]) if item.is_optional else entry

    def _needs_no_fewer(self, number: int, behind: int) -> bool:
        """Whether what follows cannot match behind fewer characters of a set if it does not behind all."""
        kind, other, least, *_ = self._rows[behind]
        if kind == Kind.MATCH:
            return True
        return (
            kind in {Kind.CHARACTERS, Kind.POSSESSIVE} and least > 0 and not self._sets.overlap(number, other)
        )

    def _number(self, spelling: str) -> int:
        return self._sets.number(spelling, members_of(spelling))

    def _first(self, choices: _Choices) -> tuple[int, bool]:
        """The bits of the sets that a match can begin with, and whether it can be empty."""
        bits, can_be_empty = 0, False
        for items in choices:
            for item in items:
                some, passes = 0, True
                if isinstance(item, _Characters):
                    some, passes = 1 << self._number(item.spelling), item.least == 0
                elif isinstance(item, _Group):
                    some, passes = self._first(item.choices)
                    passes = passes or item.is_optional
                bits |= some
                if not passes:
                    break
            else:
                can_be_empty = True
        return bits, can_be_empty


# --- which characters are in a set --------------------------------------------------------------


@cache
def members_of(spelling: str) -> NDArray[np.bool_]:
    r"""bool[0x110000], the characters in a class, an escape, or a dot.

    >>> [chr(i) for i in np.flatnonzero(members_of(r"[a-c[x]\t]"))]
    ['\t', 'a', 'b', 'c', 'x']
    """
    if spelling.startswith("(?i:"):
        return _in_both_cases(members_of(spelling[4:-1]))
    if spelling == ".":
        return ~members_of(r"\n")
    if not spelling.startswith("["):
        return _escaped(spelling)
    members, _ = _class_members(spelling, 0)
    return members


def _class_members(text: str, at: int) -> tuple[NDArray[np.bool_], int]:
    """The members of the class that begins somewhere in a text, and where it ends."""
    members = np.zeros(NUM_CODE_POINTS, np.bool_)
    at += 1
    is_negative = text[at] == "^"
    at += is_negative
    while text[at] != "]":
        if text[at] == "[":
            inner, at = _class_members(text, at)
            members |= inner
            continue
        low, at = _element(text, at)
        single = _code_point(low)
        if text[at] == "-" and text[at + 1] != "]":
            high, behind = _element(text, at + 1)
            top = _code_point(high)
            if single is None or top is None or text[at + 1] == "[" or top < single:
                raise UnknownPatternError("a class holds a range that is not understood")
            members[single : top + 1] = True
            at = behind
        elif single is not None:
            members[single] = True
        else:
            members |= _escaped(low)
    return (~members if is_negative else members), at + 1


def _element(text: str, at: int) -> tuple[str, int]:
    """A character of a class, or what begins with a backslash, and where it ends."""
    if text[at] != "\\":
        return text[at], at + 1
    found = _CODE_POINT.match(text, at) or _PROPERTY.match(text, at)
    end = at + 2 if found is None else found.end()
    return text[at:end], end


def _code_point(element: str) -> int | None:
    """The code point of an element that is one character."""
    if not element.startswith("\\"):
        return ord(element)
    if found := _CODE_POINT.fullmatch(element):
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
            raise UnknownPatternError("it names a character that there is not")
        members[single] = True
        return members
    if element[1] in "SDW":
        return ~_escaped("\\" + element[1].lower())
    if element[1] == "P" or element.startswith(r"\p{^"):
        if element.startswith(r"\P{^"):
            raise UnknownPatternError("it negates a property twice")
        return ~_escaped(r"\p{" + element[3:].removeprefix("^"))
    return _found_by_regex(element)


def _found_by_regex(element: str) -> NDArray[np.bool_]:
    import regex

    members = np.zeros(NUM_CODE_POINTS, np.bool_)
    try:
        found = regex.compile(element + "+").finditer(_all_characters())
    except regex.error:
        raise UnknownPatternError(f"it holds {element}") from None
    for run in found:
        # Behind the surrogates, which no text has, positions are not code points.
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
    return "".join(map(chr, [*range(0xD800), *range(0xE000, NUM_CODE_POINTS)]))


def _in_both_cases(members: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """A set of ASCII with the other cases of its letters, two of which are beyond ASCII."""
    both = members.copy()
    for letter in "abcdefghijklmnopqrstuvwxyz":
        if members[ord(letter)] or members[ord(letter.upper())]:
            both[[ord(letter), ord(letter.upper())]] = True
            if letter in "sk":
                both[{"s": 0x17F, "k": 0x212A}[letter]] = True
    return both
