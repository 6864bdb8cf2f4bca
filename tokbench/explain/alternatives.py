"""Detection of the alternative of a split pattern that matched a pre-token.

Nothing follows a top-level alternative that could fail, so the first alternative that matches at a position is the one
that the whole pattern matched with.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tokbench.explain.pretokens import Alternative

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_POSSESSIVE = re.compile(r"(?<=[+?*])\+|(?<=[0-9]\})\+")
_MEANINGS = {
    r"'(?:[sdmt]|ll|ve|re)": "a contraction",
    r"'(?i:[sdmt]|ll|ve|re)": "a contraction",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)": "a contraction",
    r" ?\p{L}+": "letters, optionally after a space",
    r" ?[\p{L}]+": "letters, optionally after a space",
    r" ?\p{N}+": "digits, optionally after a space",
    r" ?[\p{N}]+": "digits, optionally after a space",
    r"[^\r\n\p{L}\p{N}]?\p{L}+": "letters, optionally after one other character",
    r"\p{N}": "one digit",
    r"\p{N}{1,2}": "one or two digits",
    r"\p{N}{1,3}": "one to three digits",
    r" ?[^\s\p{L}\p{N}]+": "punctuation, optionally after a space",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*": "punctuation, optionally after a space and before line ends",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*": "punctuation, optionally after a space and before line ends",
    r" ?[^\s\p{L}\p{N}]{2,}[\r\n/]*": (
        "two or more punctuation characters, optionally after a space and before line ends"
    ),
    r" +(?!\S)": "spaces except the last one before a word",
    r"(?: ?\p{L}+|[^\S ]+| ?[^\s\p{L}\p{N}](?![^\s\p{L}\p{N}])| (?=\p{N}))+": (
        "words, and the text between them except digits"
    ),
    r"\s+$": "white space at the end",
    r"\s*[\r\n]": "a line end",
    r"\s*[\r\n]+": "line ends",
    r"\s+(?!\S)": "white space except its last character",
    r"\s+": "white space",
    r"\s": "one character of white space",
    r"[ \t][ \t]+": "an indentation",
    r"\t": "a tab",
    **dict.fromkeys(("'s", "'t", "'re", "'ve", "'m", "'ll", "'d"), "a contraction"),
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?": (
        "a word that ends in small letters"
    ),
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?": (
        "a word that begins with capitals"
    ),
    r"[^\r\n\t\p{L}\p{N}]?(?:[\p{Lu}\p{Lt}]+(?!\p{Ll})|[\p{Lu}\p{Lt}]?[\p{Ll}\p{Lm}\p{Lo}]+)": (
        "a word, or a part of one in camel case"
    ),
}


def split_alternatives(pattern: str) -> list[str]:
    r"""Split a regular expression without nested classes into its top-level alternatives.

    Leading flags are repeated before each alternative; a group around the whole expression is removed.

    >>> split_alternatives(r"(?i:'s|'t)|[|\]]+|\||\p{L}+")
    ["(?i:'s|'t)", '[|\\]]+', '\\|', '\\p{L}+']
    """
    parts = list(_cut(pattern))
    if len(parts) == 1 and (inner := _inside_group(pattern)) is not None:
        return split_alternatives(inner)
    if len(parts) > 1 and (flags := _leading_flags(pattern)):
        parts = [parts[0], *(flags + part for part in parts[1:])]
    return parts


def _cut(pattern: str) -> Iterator[str]:
    start = 0
    for place, character, depth in _outside_classes(pattern):
        if character == "|" and depth == 0:
            yield pattern[start:place]
            start = place + 1
    yield pattern[start:]


def _outside_classes(pattern: str) -> Iterator[tuple[int, str, int]]:
    """Yield the characters that are neither escaped nor in a class: (index, character, number of open groups)."""
    depth = place = 0
    in_class = False
    while place < len(pattern):
        character = pattern[place]
        if character == "\\":
            place += 1
        elif in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
            place += pattern[place + 1 : place + 2] == "^"
            place += pattern[place + 1 : place + 2] == "]"  # a bracket that comes first is literal
        else:
            depth -= character == ")"
            yield place, character, depth
            depth += character == "("
        place += 1


def _inside_group(pattern: str) -> str | None:
    """Return the content of a group that spans the whole pattern; None if there is none."""
    opening = next((prefix for prefix in ("(?:", "(") if pattern.startswith(prefix)), None)
    if opening is None or (opening == "(" and pattern.startswith("(?")):
        return None
    closing = next(
        place for place, character, depth in _outside_classes(pattern) if character == ")" and depth == 0
    )
    return pattern[len(opening) : closing] if closing == len(pattern) - 1 else None


def _leading_flags(pattern: str) -> str:
    if pattern.startswith("(?") and (stop := pattern.find(")")) > 0 and pattern[2:stop].isalpha():
        return pattern[: stop + 1]
    return ""


@dataclass(frozen=True, slots=True)
class SplitAlternatives:
    """The compiled alternatives of one pattern.

    Attributes:
        alternatives: the alternatives in order, each with its compiled expression.
    """

    alternatives: tuple[tuple[Alternative, Any], ...]

    def matching(self, text: str, pretokens: Iterable[str]) -> Iterator[Alternative | None]:
        """Yield the alternative that matched each pre-token; None if the first match does not end with the pre-token.

        Args:
            text: the text that was split.
            pretokens: its pre-tokens in order, whose concatenation is the text.
        """
        start = 0
        for pretoken in pretokens:
            stop = start + len(pretoken)
            yield self.at(text, start, stop)
            start = stop

    def at(self, text: str, start: int, stop: int) -> Alternative | None:
        """Return the alternative that matched between two positions; None if unknown."""
        for alternative, compiled in self.alternatives:
            if (match := compiled.match(text, start)) is not None:
                return alternative if match.end() == stop else None
        return None


@lru_cache(maxsize=16)
def alternatives_of(pattern: str) -> SplitAlternatives:
    """Compile the alternatives of a pattern; return no alternatives if one of them does not compile by itself."""
    import regex

    from tokbench.formats.set_operations import without_set_operations

    parts = split_alternatives(without_set_operations(pattern))
    try:
        compiled = [regex.compile(part) for part in parts]
    except regex.error:
        return SplitAlternatives(())
    return SplitAlternatives(
        tuple(
            # Possessive quantifiers make no difference to the known ones.
            (Alternative(number, part, _MEANINGS.get(_POSSESSIVE.sub("", part))), expression)
            for number, (part, expression) in enumerate(zip(parts, compiled, strict=True), 1)
        )
    )
