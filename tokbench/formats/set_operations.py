r"""Character classes with set operations, as in tiktoken, rewritten for regular expressions without them.

In tiktoken `[\p{L}&&[^\p{Han}]]` is an intersection, as in Rust: `&&`, `--` and `~~` are binary operators with equal
precedence, evaluated from left to right; the items of an operand are united first, classes nest, and a leading `^`
negates the whole class. The `regex` package reads `&` and `[` in a class literally, and Oniguruma knows only `&&`. A
class with a nested class or an operation becomes one character that is tested against several plain classes:
`(?=…)`, `(?!…)` and `|` mean the same everywhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_OPERATIONS = ("&&", "--", "~~")
_ANY, _NONE = r"[\s\S]", r"(?!)"


def without_set_operations(pattern: str) -> str:
    r"""Rewrite a pattern to have no nested classes or set operations; returns it unchanged if it has none.

    A pattern whose classes are invalid in Rust is returned unchanged, for other dialects to interpret.

    >>> print(without_set_operations(r"[\p{L}&&[^\p{Han}]]+|."))
    (?:(?=[\p{L}])[^\p{Han}])+|.
    >>> print(without_set_operations(r"[\w--[a-f]x]"))
    (?:(?!(?:[a-f]|[x]))[\w])
    """
    try:
        return "".join(_Reader(pattern).parts())
    except _NotAClassError:
        return pattern


def set_operations(pattern: str) -> set[str]:
    """Return the set operations in the classes of a pattern; "[" stands for a nested class.

    >>> sorted(set_operations("[a-z&&[^x]]--"))
    ['&&', '[']
    """
    reader = _Reader(pattern)
    try:
        list(reader.parts())
    except _NotAClassError:
        return set()
    return reader.seen


class _NotAClassError(Exception):
    """Brackets do not pair as classes."""


@dataclass(frozen=True, slots=True)
class _Set:
    """A set of characters.

    Attributes:
        text: an expression that matches one character of the set.
        items: the text between the brackets of a plain class that is not negated; None for others.
    """

    text: str
    items: str | None = None


class _Reader:
    """Reads a pattern once, from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._position = 0
        self.seen: set[str] = set()

    def parts(self) -> list[str]:
        """Return the pattern in parts: classes, and the text between them."""
        parts: list[str] = []
        while self._position < len(self._pattern):
            if self._pattern[self._position] == "[":
                parts.append(self._class().text)
            else:
                parts.append(self._next_character())
        return parts

    def _next_character(self) -> str:
        """Read the next character or escape sequence."""
        match = _CHARACTER.match(self._pattern, self._position)
        if match is None:  # a backslash at the end
            raise _NotAClassError
        self._position = match.end()
        return match.group()

    def _class(self) -> _Set:
        """Read a class, from its opening to its closing bracket."""
        start = self._position
        opening = _OPENING.match(self._pattern, start)
        if opening is None:
            raise _NotAClassError
        self._position = opening.end()
        negated = opening["negation"] != ""
        hyphens = opening["hyphens"] if len(opening["hyphens"]) > 1 else ""
        left: _Set | None = None
        operation, operand = "", _Operand((r"\-" if hyphens else opening["hyphens"]) + opening["bracket"])
        while True:
            rest = self._pattern[self._position : self._position + 2]
            if not rest:
                raise _NotAClassError
            if rest in _OPERATIONS:
                left = _combine(left, operation, operand.whole())
                operation, operand = rest, _Operand("")
                self.seen.add(rest)
                self._position += 2
            elif rest[0] == "]":
                self._position += 1
                break
            elif rest[0] == "[" and not _POSIX.match(self._pattern, self._position):
                self.seen.add("[")
                operand.nested.append(self._class())
            else:
                operand.items += self._item()
        if left is None and not operand.nested and not hyphens:
            return _Set(self._pattern[start : self._position], None if negated else operand.items)
        result = _combine(left, operation, operand.whole())
        return _Set(f"(?:(?!{result.text}){_ANY})") if negated else result

    def _item(self) -> str:
        """Read a character, an escape, a POSIX class, or a range of characters."""
        posix = _POSIX.match(self._pattern, self._position)
        if posix is not None:
            self._position = posix.end()
            return posix.group()
        item = self._literal()
        following = self._pattern[self._position : self._position + 2]
        if following[:1] == "-" and following[1:] not in ("", "-", "]"):
            self._position += 1
            item += "-" + self._literal()
        return item

    def _literal(self) -> str:
        """Read the next character, escaped if it could be special: an operand like `^-a` may come first in a class."""
        character = self._next_character()
        return f"\\{character}" if character in _SPECIAL_IN_CLASS else character


@dataclass(slots=True)
class _Operand:
    """An operand of a set operation: the union of characters and classes."""

    items: str
    nested: list[_Set] = field(default_factory=list)

    def whole(self) -> _Set:
        """Return the union."""
        sets = [*self.nested, *([_Set(f"[{self.items}]", self.items)] if self.items else [])]
        if not sets:
            return _Set(_NONE)
        if len(sets) == 1:
            return sets[0]
        return _Set(f"(?:{'|'.join(nested.text for nested in sets)})")


def _combine(left: _Set | None, operation: str, right: _Set) -> _Set:
    """Return the result of an operation on two sets."""
    if left is None:
        return right
    match operation:
        case "&&":
            return _Set(f"(?:(?={left.text}){right.text})")
        case "--":
            return _Set(f"(?:(?!{right.text}){left.text})")
        case _:
            return _Set(f"(?:(?!{right.text}){left.text}|(?!{left.text}){right.text})")


_CHARACTER = re.compile(r"(?s)\\(?:[pP]\{[^}]*\}|[xuU]\{[^}]*\}|.)|[^\\]")
_OPENING = re.compile(r"\[(?P<negation>\^?)(?P<hyphens>-*)(?P<bracket>\]?)")
"""Leading hyphens and a leading bracket are literals; other dialects read `[--a]` as a range."""
_SPECIAL_IN_CLASS = {"^", "-", "&", "~"}
"""Characters that could be special at another position in a class."""
_POSIX = re.compile(r"\[:\^?[a-z]+:\]")
