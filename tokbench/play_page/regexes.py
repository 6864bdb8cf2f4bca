r"""Translate split patterns to JavaScript regular expressions that mean the same in every browser.

Browsers differ in their Unicode version, and thus in `\p{L}`. So each character class is written out as its code
points according to the `regex` package, which defines the patterns here; sets of them have a short form on the page.
Possessive repetition, which JavaScript lacks, is replaced by an equivalent: a capturing lookahead, and a reference to
what it captured.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from tokbench.errors import PageError
from tokbench.formats.set_operations import without_set_operations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def code_points() -> Iterable[int]:
    """Return all code points that a text can contain, in order."""
    return chain(range(0xD800), range(0xE000, 0x110000))


def ranges(codes: Iterable[int]) -> list[int]:
    """Return the first and last of each range of ascending code points, flattened.

    >>> ranges([1, 2, 3, 7])
    [1, 3, 7, 7]
    """
    return list(chain.from_iterable(_each_range(codes)))


def _each_range(codes: Iterable[int]) -> Iterator[tuple[int, int]]:
    first = last = -1
    for code in codes:
        if code != last + 1 or first < 0:
            if first >= 0:
                yield first, last
            first = code
        last = code
    if first >= 0:
        yield first, last


_NAMED_CLASS = re.compile(r"\\(?:[pP]\{\^?[\w\s=&-]+\}|[pP][A-Z]|[sSdDwWhv])")
_CODE_POINT = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x\{[0-9a-fA-F]{1,6}\})")
_REPEATED = re.compile(r"(?:[?*+]|\{\d{1,4}(?:,(?:\d{1,4})?)?\})")
_GROUPS = {
    "(?:": "(?:",
    "(?i:": "(?:",
    "(?=": "(?=",
    "(?!": "(?!",
    "(?<=": "(?<=",
    "(?<!": "(?<!",
    "(?>": "(?>",
}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "a": "\a", "e": "\x1b", "0": "\0"}
_ENDS = {"$": r"(?=\n?(?![^]))", r"\Z": r"(?![^])", r"\z": r"(?![^])", "^": r"(?<![^])", r"\A": r"(?<![^])"}


def javascript_regex(pattern: str) -> str:
    r"""Translate a split pattern for `new RegExp(…, "yu")`.

    Args:
        pattern: a pattern in the dialect of the `regex` package.

    Raises:
        PageError: it contains syntax that is not known to mean the same.

    >>> javascript_regex("[ab]+|.")
    '[a-b]+|[\\u{0}-\\u{9}\\u{b}-\\u{10ffff}]'
    >>> javascript_regex("a++b")
    '(?=(?<p1>a+))\\k<p1>b'
    """
    return _Writer(without_set_operations(pattern)).written()


class _Writer:
    """Translates a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._captures = 0

    def written(self) -> str:
        translated = self._choices(ignore_case=False, is_outermost=True)
        if self._at != len(self._pattern):
            raise self._refused("a parenthesis that is closed and not open")
        return translated

    def _choices(self, *, ignore_case: bool, is_outermost: bool = False) -> str:
        translated: list[str] = []
        while self._at < len(self._pattern) and self._pattern[self._at] != ")":
            if self._takes("|"):
                translated.append("|")
            else:
                translated.append(
                    self._repeated(self._item(ignore_case=ignore_case), is_outermost=is_outermost)
                )
        return "".join(translated)

    def _item(self, *, ignore_case: bool) -> str:
        """Translate one character, class, group or assertion."""
        for opening, written in _GROUPS.items():
            if self._takes(opening):
                inside = self._choices(ignore_case=ignore_case or opening == "(?i:")
                if not self._takes(")"):
                    raise self._refused("a parenthesis that is not closed")
                return self._atomic(inside) if written == "(?>" else f"{written}{inside})"
        if self._pattern.startswith("(?", self._at):
            raise self._refused(self._pattern[self._at : self._at + 4])
        if self._takes("("):
            inside = self._choices(ignore_case=ignore_case)
            if not self._takes(")"):
                raise self._refused("a parenthesis that is not closed")
            return f"(?:{inside})"
        for ending, written in _ENDS.items():
            if self._takes(ending):
                return written
        return self._character(ignore_case=ignore_case)

    def _character(self, *, ignore_case: bool) -> str:
        """Translate a class, or a literal character."""
        start = self._at
        character = self._pattern[start]
        if character == "[":
            self._pass_class()
            return _class_of(self._pattern[start : self._at], ignore_case=ignore_case)
        if character == ".":
            self._at += 1
            return _class_of(".", ignore_case=False)
        if character == "\\":
            return self._escaped(ignore_case=ignore_case)
        if character in "?*+{}]":
            raise self._refused(repr(character))
        self._at += 1
        return _literal(character, ignore_case=ignore_case)

    def _escaped(self, *, ignore_case: bool) -> str:
        if match := _NAMED_CLASS.match(self._pattern, self._at):
            self._at = match.end()
            return _class_of(match.group(), ignore_case=ignore_case)
        if match := _CODE_POINT.match(self._pattern, self._at):
            self._at = match.end()
            return _literal(chr(int(match.group()[2:].strip("{}"), 16)), ignore_case=ignore_case)
        letter = self._pattern[self._at + 1 : self._at + 2]
        if letter in _CONTROLS or (letter.isascii() and letter and not letter.isalnum()):
            self._at += 2
            return _literal(_CONTROLS.get(letter, letter), ignore_case=ignore_case)
        raise self._refused(f"\\{letter}")

    def _pass_class(self) -> None:
        """Skip a class; nested classes have been removed before."""
        self._at += 1
        self._takes("^")
        self._takes("]")
        while not self._takes("]"):
            if self._at >= len(self._pattern):
                raise self._refused("a class that is not closed")
            posix = re.compile(r"\[:\^?[a-z]+:\]").match(self._pattern, self._at)
            self._at = posix.end() if posix else self._at + (2 if self._pattern[self._at] == "\\" else 1)

    def _repeated(self, item: str, *, is_outermost: bool) -> str:
        match = _REPEATED.match(self._pattern, self._at)
        if match is None:
            return item
        self._at = match.end()
        translated = item + match.group()
        if self._takes("?"):
            return f"{translated}?"
        if not self._takes("+"):
            return translated
        # At the end of a top-level alternative, nothing follows that could cause backtracking.
        is_last = self._at == len(self._pattern) or self._pattern[self._at] == "|"
        return translated if is_outermost and is_last else self._atomic(translated)

    def _atomic(self, inside: str) -> str:
        self._captures += 1
        return f"(?=(?<p{self._captures}>{inside}))\\k<p{self._captures}>"

    def _takes(self, text: str) -> bool:
        is_there = self._pattern.startswith(text, self._at)
        self._at += len(text) * is_there
        return is_there

    def _refused(self, what: str) -> PageError:
        return PageError(
            f"its split pattern contains {what}, which is not known to mean the same in JavaScript",
            hint="`tokbench play` in the terminal runs every pattern",
        )


def _literal(character: str, *, ignore_case: bool) -> str:
    if not ignore_case or not character.isalpha():
        return _spelled(ord(character))
    return _class_of(re.escape(character), ignore_case=True)


@cache
def _class_of(spelling: str, *, ignore_case: bool) -> str:
    """Return the code points of a class, as a class of ranges."""
    import regex

    try:
        expression = regex.compile(f"(?:{spelling})+", regex.IGNORECASE if ignore_case else 0)
    except regex.error as error:
        raise PageError(f"its split pattern contains {spelling}, which does not compile: {error}") from None
    ranges = [
        (ord(found[0]), ord(found[-1]))
        for found in map(regex.Match.group, expression.finditer(_characters()))
    ]
    if not ranges:
        return "(?!)"
    return f"[{''.join(_spelled_range(first, last) for first, last in ranges)}]"


@cache
def _characters() -> str:
    """Return all characters in order."""
    return "".join(map(chr, code_points()))


def _spelled_range(first: int, last: int) -> str:
    return _spelled(first) if first == last else f"{_spelled(first)}-{_spelled(last)}"


def _spelled(code: int) -> str:
    is_plain = code < 0x80 and chr(code).isalnum()
    return chr(code) if is_plain else f"\\u{{{code:x}}}"
