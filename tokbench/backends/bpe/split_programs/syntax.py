r"""Parse split patterns into characters, groups, alternatives, repetitions and lookaheads.

A reference to a group is understood right after a group of one character, as in `([!?])\1*`. The syntax is Oniguruma's,
as used by `tokenizers`, unless a dialect says otherwise. A pattern with anything else is unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokbench.backends.bpe.split_programs.character_sets import (
    BRACKET,
    CODE_POINT,
    MOST_SETS,
    PROPERTY,
    UnknownPatternError,
    members_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

NO_LIMIT = 0xFFFF_FFFF


class Characters(NamedTuple):
    """A repetition of characters of one set.

    Attributes:
        spelling: the spelling of the set, as `members_of` takes it.
        least: the minimum number of characters.
        most: the maximum number of characters.
        is_possessive: whether matched characters are never given back.
        is_lazy: whether a match takes as few characters as possible.
    """

    spelling: str
    least: int = 1
    most: int = 1
    is_possessive: bool = False
    is_lazy: bool = False


class Group(NamedTuple):
    """Alternatives, tried in order."""

    choices: tuple[tuple[Item, ...], ...]
    is_optional: bool = False


class Ahead(NamedTuple):
    """A lookahead: must follow, or must not follow if negative, and is not part of the match."""

    choices: tuple[tuple[Item, ...], ...]
    is_negative: bool


class LineEnd(NamedTuple):
    """A dollar: the end of the text, or of a line in it."""


Item = Characters | Group | Ahead | LineEnd
Choices = tuple[tuple[Item, ...], ...]


@dataclass(frozen=True, slots=True)
class Dialect:
    """What patterns mean where libraries differ.

    Attributes:
        members_of: the spelling of a set → bool[0x110000], the characters in it. Raises `UnknownPatternError`.
        has_possessive_intervals: whether `{1,3}+` is possessive; for Oniguruma it is a repeated repetition.
    """

    members_of: Callable[[str], NDArray[np.bool_]]
    has_possessive_intervals: bool


ONIGURUMA = Dialect(members_of, has_possessive_intervals=False)
RUST = Dialect(members_of, has_possessive_intervals=True)
r"""The dialect of tiktoken; \w must be spelled out."""

_REPEATED = re.compile(r"\{(\d{1,4})(?:(,)(\d{1,4})?)?\}|[?*+]")
_FOLDED_PAIRS = frozenset(["ss", "st", "ff", "fi", "fl"])
"""Adjacent letters that Oniguruma, ignoring case, also matches with one character, such as ß."""


def parsed(pattern: str, *, dialect: Dialect = ONIGURUMA) -> Choices:
    r"""Return the alternatives of a pattern, each with its items in order. Raises `UnknownPatternError`.

    >>> parsed(r"\p{L}+|$")
    ((Characters(spelling='\\p{L}', least=1, most=4294967295, is_possessive=False, is_lazy=False),), (LineEnd(),))
    """
    return _Parser(pattern, dialect).parsed()


class _Parser:
    """A recursive-descent parser of one pattern."""

    def __init__(self, pattern: str, dialect: Dialect) -> None:
        self._text = pattern
        self._dialect = dialect
        self._at = 0
        self._captures = 0

    def parsed(self) -> Choices:
        choices = self._choices(ignore_case=False)
        if self._at != len(self._text):
            raise UnknownPatternError("a closing parenthesis has no opening one")
        return choices

    def _choices(self, *, ignore_case: bool) -> Choices:
        choices: list[tuple[Item, ...]] = []
        items: list[Item] = []
        previous = ""  # the preceding letter, if case is ignored
        while self._at < len(self._text) and self._text[self._at] != ")":
            if self._takes("|"):
                choices.append(tuple(items))
                items, previous = [], ""
                continue
            start = self._at
            items.append(self._item(ignore_case=ignore_case))
            letter = self._text[start : self._at].lower()
            if ignore_case and previous + letter in _FOLDED_PAIRS:
                raise UnknownPatternError(
                    "it ignores the case of letters that also match one character, as ss matches ß"
                )
            previous = letter
        return (*choices, tuple(items))

    def _item(self, *, ignore_case: bool) -> Item:
        for opening, ignores, ahead in _GROUPS:
            if opening == "(" and self._text.startswith("(?", self._at):
                raise UnknownPatternError(f"it contains {self._text[self._at : self._at + 4]!r}")
            if self._takes(opening):
                self._captures += opening == "("
                number = self._captures if opening == "(" else None
                choices = self._choices(ignore_case=ignore_case or ignores)
                if not self._takes(")"):
                    raise UnknownPatternError("a parenthesis is not closed")
                if ahead is not None:
                    self._not_repeated()
                    return Ahead(choices, is_negative=ahead == "!")
                if number is not None and self._takes(f"\\{number}"):
                    return self._same_character(choices, ignore_case=ignore_case)
                return self._repeated_group(choices)
        if self._takes("$"):
            self._not_repeated()
            return LineEnd()
        return self._repeated(self._set(ignore_case=ignore_case))

    def _repeated_group(self, choices: Choices) -> Item:
        if self._takes("?"):
            self._not_repeated()
            return Group(choices, is_optional=True)
        only = _only_character(choices)
        if only is not None:
            return self._repeated(only)
        self._not_repeated()
        return Group(choices)

    def _same_character(self, choices: Choices, *, ignore_case: bool) -> Group:
        """Return a character of a set and repetitions of that same character, written as a reference to its group.

        It has an alternative for each character of the set, of which no two can match at one place.
        """
        only = _only_character(choices)
        if only is None or ignore_case or self._text[self._at : self._at + 1].isdigit():
            raise UnknownPatternError("it refers back to more than a character")
        again = self._repeated(only)
        members = np.flatnonzero(self._dialect.members_of(only)).tolist()
        if len(members) > MOST_SETS:
            raise UnknownPatternError("it repeats any of too many characters")
        least, most = again.least + 1, min(again.most + 1, NO_LIMIT)
        return Group(
            tuple(
                (again._replace(spelling=_spelling_of(member), least=least, most=most),) for member in members
            )
        )

    def _repeated(self, spelling: str) -> Characters:
        found = _REPEATED.match(self._text, self._at)
        if found is None:
            if self._text.startswith("{", self._at):
                raise UnknownPatternError("it contains a brace")
            return Characters(spelling)
        self._at = found.end()
        sign = found.group()
        if sign in _SIGNS:
            least, most = _SIGNS[sign]
            is_possessive = self._takes("+")
            is_lazy = not is_possessive and self._takes("?")
            self._not_repeated()
            return Characters(spelling, least, most, is_possessive, is_lazy)
        is_possessive = self._dialect.has_possessive_intervals and self._takes("+")
        is_lazy = (  # after {3} alone a question mark means something else
            not is_possessive and bool(found[2]) and self._takes("?")
        )
        self._not_repeated()
        least = int(found[1])
        most = least if not found[2] else int(found[3]) if found[3] else NO_LIMIT
        if most < least or not most:
            raise UnknownPatternError(f"it contains {sign}")
        return Characters(spelling, least, most, is_possessive, is_lazy)

    def _not_repeated(self) -> None:
        if self._at < len(self._text) and self._text[self._at] in "?*+{":
            raise UnknownPatternError(f"its repetition is not understood: {self._text[self._at]!r}")

    def _takes(self, text: str) -> bool:
        is_there = self._text.startswith(text, self._at)
        self._at += len(text) * is_there
        return is_there

    def _set(self, *, ignore_case: bool) -> str:
        """Return the spelling of the set of characters that begins here."""
        start = self._at
        character = self._text[start]
        if character == "[":
            self._class()
        elif character == "\\":
            self._escape()
        elif character in "^$*+?{}":
            raise UnknownPatternError(f"it contains {character!r}")
        else:
            self._at += 1
        spelling = self._text[start : self._at]
        if not ignore_case:
            return spelling if character in "[\\." else f"[{spelling}]" if spelling != "]" else r"[\]]"
        if "\\" in spelling or not spelling.isascii() or "-" in spelling or "[:" in spelling:
            raise UnknownPatternError("it ignores case where that is not understood")
        return f"(?i:{spelling if character == '[' else f'[{spelling}]'})"

    def _class(self) -> None:
        """Skip a class, which may contain other classes."""
        self._at += 1
        self._takes("^")
        if self._text.startswith("]", self._at):
            raise UnknownPatternError("a class begins with a bracket")
        while not self._takes("]"):
            if self._at >= len(self._text):
                raise UnknownPatternError("a class is not closed")
            if found := BRACKET.match(self._text, self._at):
                self._at = found.end()
                continue
            if self._text.startswith(("[:", "--", "~~", "||"), self._at):
                raise UnknownPatternError(f"it contains {self._text[self._at : self._at + 2]!r} in a class")
            if self._text[self._at] == "[":
                self._class()
            elif self._text[self._at] == "\\":
                self._escape()
            else:
                self._at += 1

    def _escape(self) -> None:
        """Skip an escape sequence that denotes a set of characters."""
        rest = self._text[self._at : self._at + 2]
        found = CODE_POINT.match(self._text, self._at) or PROPERTY.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
        elif len(rest) == 2 and (rest[1] in "sSdDwWnrtfvea" or (rest[1].isascii() and not rest[1].isalnum())):
            self._at += 2
        else:
            raise UnknownPatternError(f"it contains {rest!r}")


def _spelling_of(code_point: int) -> str:
    """Return the spelling of a set of one character that means the same in all dialects."""
    return f"[{chr(code_point)}]" if code_point >= 0x10000 else f"\\u{code_point:04X}"


def _only_character(choices: Choices) -> str | None:
    """Return the spelling of the set if the alternatives are one character of it; None if they are anything else."""
    only = choices[0][0] if len(choices) == 1 and len(choices[0]) == 1 else None
    return only.spelling if isinstance(only, Characters) and (only.least, only.most) == (1, 1) else None


_GROUPS = (
    *(("(?:", False, None), ("(?i:", True, None), ("(?!", False, "!"), ("(?=", False, "=")),
    ("(", False, None),  # a capturing group; only a reference that repeats its character is understood
)
_SIGNS = {"?": (0, 1), "*": (0, NO_LIMIT), "+": (1, NO_LIMIT)}
