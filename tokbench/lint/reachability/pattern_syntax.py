"""A parser for split patterns, for the syntax of regular expressions that they use.

Only the structure is parsed. Character classes are kept as text and interpreted by the `regex` package.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


class UnknownSyntaxError(Exception):
    """The pattern has syntax that is not supported."""


@dataclass(frozen=True, slots=True)
class CharacterClass:
    """A node that matches one character: the text of a class, an escape or a letter for the `regex` package."""

    text: str
    ignores_case: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    """A concatenation of parts; without parts, it matches the empty text, which also stands for look-around."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice between alternatives."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """A repeated part.

    Attributes:
        part: the part.
        least: minimum number of repetitions.
        most: maximum number of repetitions; None for no limit.
    """

    part: Node
    least: int
    most: int | None


Node = CharacterClass | Sequence | Choice | Repetition

NOTHING = Sequence(())
_MOST_UNROLLED = 64
_QUANTIFIER = re.compile(r"(?:([*+?])|\{(\d+)(,(\d*))?\})[?+]?")
_ESCAPE = re.compile(
    r"\\(?:[pP](?:\{[^}]*\}|[A-Z])|x[0-9A-Fa-f]{2}|x\{[0-9A-Fa-f]+\}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)",
    re.DOTALL,
)
_ANCHORS = frozenset({r"\b", r"\B", r"\A", r"\z", r"\Z", r"\G"})
_LOOKS = ("(?=", "(?!", "(?<=", "(?<!")


def parse_pattern(pattern: str) -> Node:
    """Parse a pattern.

    Raises:
        UnknownSyntaxError: the pattern has back-references or other syntax that split patterns do not use.
    """
    parser = _Parser(pattern)
    node = parser.choice(ignores_case=False)
    if parser.place != len(pattern):
        raise UnknownSyntaxError(pattern[parser.place :])
    return node


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.place = 0

    def choice(self, *, ignores_case: bool) -> Node:
        options = [self.sequence(ignores_case=ignores_case)]
        while self.take("|"):
            options.append(self.sequence(ignores_case=ignores_case))
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def sequence(self, *, ignores_case: bool) -> Node:
        parts: list[Node] = []
        while self.place < len(self.pattern) and self.pattern[self.place] not in "|)":
            if self.take("(?i)"):
                ignores_case = True
                continue
            atom = self.atom(ignores_case=ignores_case)
            quantifier = _QUANTIFIER.match(self.pattern, self.place)
            if quantifier is not None:
                self.place = quantifier.end()
                atom = Repetition(atom, *_bounds(quantifier))
            parts.append(atom)
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def atom(self, *, ignores_case: bool) -> Node:
        rest = self.pattern[self.place :]
        if rest.startswith("("):
            return self.group(ignores_case=ignores_case)
        if rest[0] in "^$":
            self.place += 1
            return NOTHING
        text = self.bracket() if rest.startswith("[") else self.letter()
        return NOTHING if text in _ANCHORS else CharacterClass(text, ignores_case)

    def group(self, *, ignores_case: bool) -> Node:
        for opening in ("(?:", "(?>", "(?i:", *_LOOKS, "("):
            if self.take(opening):
                break
        if opening == "(" and self.pattern.startswith(("?", "*"), self.place):
            raise UnknownSyntaxError(self.pattern[self.place - 1 :])
        inner = self.choice(ignores_case=ignores_case or opening == "(?i:")
        if not self.take(")"):
            raise UnknownSyntaxError("a group is not closed")
        return NOTHING if opening in _LOOKS else inner

    def letter(self) -> str:
        if self.pattern[self.place] != "\\":
            self.place += 1
            letter = self.pattern[self.place - 1]
            return letter if letter == "." else re.escape(letter)
        found = _ESCAPE.match(self.pattern, self.place)
        if found is None or found.group()[1:].isdigit() or found.group() in (r"\X", r"\R", r"\K"):
            raise UnknownSyntaxError(self.pattern[self.place :])
        self.place = found.end()
        return found.group()

    def bracket(self) -> str:
        start, depth = self.place, 0
        while self.place < len(self.pattern):
            character = self.pattern[self.place]
            if character == "\\":
                self.place += 1
            elif character == "[":
                depth += 1
            elif character == "]" and self.place > start + 1 + self.pattern.startswith("[^", start):
                depth -= 1
            self.place += 1
            if not depth:
                return self.pattern[start : self.place]
        raise UnknownSyntaxError("a class is not closed")

    def take(self, text: str) -> bool:
        if not self.pattern.startswith(text, self.place):
            return False
        self.place += len(text)
        return True


def _bounds(quantifier: re.Match[str]) -> tuple[int, int | None]:
    if quantifier[1]:
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[quantifier[1]]
    least = int(quantifier[2])
    most = least if quantifier[3] is None else int(quantifier[4]) if quantifier[4] else None
    if max(least, most or 0) > _MOST_UNROLLED:
        raise UnknownSyntaxError("too many repetitions")
    return least, most
