r"""Character classes with set operations, as tiktoken takes them, spelled for expressions that have none.

`[\p{L}&&[^\p{Han}]]` is an intersection to tiktoken, whose classes are those of Rust: `&&`, `--` and `~~` stand
between operands and are taken from the left, whatever else stands in an operand is united before, classes
nest, and a `^` in front is about all of it. The `regex` package reads `&` and `[` there as themselves, and
Oniguruma knows `&&` alone. A class that holds another one, or an operation, is one character that two or more
plain classes are asked about: `(?=…)`, `(?!…)` and `|` say the same to everyone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_OPERATIONS = ("&&", "--", "~~")
_ANY, _NONE = r"[\s\S]", r"(?!)"


def without_set_operations(pattern: str) -> str:
    r"""A pattern whose classes neither nest nor hold operations; the pattern itself where none does.

    What is not a class by the rules of Rust is left as it is, for other dialects to make sense of.

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
    """The operations that the classes of a pattern hold; "[" for a class inside another.

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
    """Brackets that do not pair as those of classes do."""


@dataclass(frozen=True, slots=True)
class _Set:
    """A set of characters.

    Attributes:
        text: an expression for one character that is in it.
        items: what stands between its brackets, where it is a plain class that is not negated; None elsewhere.
    """

    text: str
    items: str | None = None


class _Reader:
    """Walks over a pattern once."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._position = 0
        self.seen: set[str] = set()

    def parts(self) -> list[str]:
        """The pattern in parts: classes, and what stands between them."""
        found: list[str] = []
        while self._position < len(self._pattern):
            if self._pattern[self._position] == "[":
                found.append(self._class().text)
            else:
                found.append(self._one())
        return found

    def _one(self) -> str:
        """The next character, with what it escapes."""
        match = _ONE.match(self._pattern, self._position)
        if match is None:  # a backslash at the end
            raise _NotAClassError
        self._position = match.end()
        return match.group()

    def _class(self) -> _Set:
        """A class, from its bracket to the one that closes it."""
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
                left = _joined(left, operation, operand.whole())
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
        made = _joined(left, operation, operand.whole())
        return _Set(f"(?:(?!{made.text}){_ANY})") if negated else made

    def _item(self) -> str:
        """A character, an escape, a class of POSIX, or a range of characters."""
        posix = _POSIX.match(self._pattern, self._position)
        if posix is not None:
            self._position = posix.end()
            return posix.group()
        item = self._as_itself()
        following = self._pattern[self._position : self._position + 2]
        if following[:1] == "-" and following[1:] not in ("", "-", "]"):
            self._position += 1
            item += "-" + self._as_itself()
        return item

    def _as_itself(self) -> str:
        """The next character, escaped where it would mean more: an operand of `^-a` may begin a class."""
        one = self._one()
        return f"\\{one}" if one in _MEANS_MORE else one


@dataclass(slots=True)
class _Operand:
    """What stands between two operations: characters and classes, united."""

    items: str
    nested: list[_Set]

    def __init__(self, items: str) -> None:
        self.items = items
        self.nested = []

    def whole(self) -> _Set:
        """The union of all of it."""
        sets = [*self.nested, *([_Set(f"[{self.items}]", self.items)] if self.items else [])]
        if not sets:
            return _Set(_NONE)
        if len(sets) == 1:
            return sets[0]
        return _Set(f"(?:{'|'.join(each.text for each in sets)})")


def _joined(left: _Set | None, operation: str, right: _Set) -> _Set:
    """What an operation makes of two sets."""
    if left is None:
        return right
    match operation:
        case "&&":
            return _Set(f"(?:(?={left.text}){right.text})")
        case "--":
            return _Set(f"(?:(?!{right.text}){left.text})")
        case _:
            return _Set(f"(?:(?!{right.text}){left.text}|(?!{left.text}){right.text})")


_ONE = re.compile(r"(?s)\\(?:[pP]\{[^}]*\}|[xuU]\{[^}]*\}|.)|[^\\]")
_OPENING = re.compile(r"\[(?P<negation>\^?)(?P<hyphens>-*)(?P<bracket>\]?)")
"""Hyphens and a bracket that stand first are themselves; other dialects read `[--a]` as a range."""
_MEANS_MORE = {"^", "-", "&", "~"}
"""Characters that another place in a class would give a meaning."""
_POSIX = re.compile(r"\[:\^?[a-z]+:\]")
