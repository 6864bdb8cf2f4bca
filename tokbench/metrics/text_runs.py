"""The definitions of characters, and of the runs of a text that are compared with tokens.

Runs are words, numbers, operators and indentations; numbers and identifiers have boundaries that a tokenizer could be
expected to respect.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from enum import IntEnum
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokbench.core.tokens import Span
from tokbench.metrics.metric import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

NUM_CODE_POINTS = 0x110000


class CharacterClass(IntEnum):
    """The class of a character for the metrics; its value is in the table of `character_classes`."""

    OTHER = 0
    """Punctuation, symbols, controls and unassigned characters; also a byte that is not part of a character."""
    UPPER = 1
    """A capital or titlecase letter."""
    LOWER = 2
    LETTER = 3
    """A letter without case, of a script with spaces between words."""
    UNSPACED = 4
    """A letter of a script without spaces between words: a word by itself."""
    MARK = 5
    """A combining mark, or a joiner between letters (U+200C, U+200D)."""
    DIGIT = 6
    """A decimal digit of any script."""
    NUMBER = 7
    """A number that is not a decimal digit, as "Ⅷ" and "½"."""
    UNDERSCORE = 8
    SPACE = 9
    """White space that does not end a line."""
    NEWLINE = 10
    """White space that ends a line, including carriage return."""


UNSPACED_SCRIPTS = (
    "Ahom", "Balinese", "Bopomofo", "Han", "Hiragana", "Javanese", "Katakana", "Khitan_Small_Script",
    "Khmer", "Lao", "Myanmar", "New_Tai_Lue", "Nushu", "Tai_Le", "Tai_Tham", "Tai_Viet", "Tangut", "Thai",
    "Tibetan", "Yi",
)  # fmt: skip
"""Scripts that are written without spaces between words. Korean has spaces."""

_UNSPACED = "".join(rf"\p{{scx={script}}}" for script in UNSPACED_SCRIPTS)

_PATTERNS = {  # a later pattern wins where two match
    CharacterClass.UPPER: r"[\p{Lu}\p{Lt}]+",
    CharacterClass.LOWER: r"\p{Ll}+",
    CharacterClass.LETTER: r"[\p{Lm}\p{Lo}]+",
    CharacterClass.UNSPACED: rf"[\p{{L}}&&[{_UNSPACED}]]+",
    CharacterClass.MARK: r"[\p{M}\p{Join_Control}]+",
    CharacterClass.DIGIT: r"\p{Nd}+",
    CharacterClass.NUMBER: r"[\p{Nl}\p{No}]+",
    CharacterClass.UNDERSCORE: r"_",
    CharacterClass.SPACE: r"\p{White_Space}+",
    CharacterClass.NEWLINE: r"[\n\v\f\r\x85\u2028\u2029]+",
}


@cache
def character_classes() -> NDArray[np.uint8]:
    """Return the class of each code point, by the Unicode tables of the `regex` package.

    Returns:
        uint8[0x110000], read-only: values of `CharacterClass`; surrogates are OTHER.

    >>> classes = character_classes()
    >>> [CharacterClass(classes[ord(character)]).name for character in "Éa語७_"]
    ['UPPER', 'LOWER', 'UNSPACED', 'DIGIT', 'UNDERSCORE']
    """
    import regex

    code_points = np.arange(NUM_CODE_POINTS, dtype="<u4")
    every_character = code_points.tobytes().decode("utf-32-le", "surrogatepass")
    classes = np.zeros(NUM_CODE_POINTS, dtype=np.uint8)
    for kind, pattern in _PATTERNS.items():
        for match in regex.finditer(pattern, every_character, flags=regex.VERSION1):
            classes[match.start() : match.end()] = kind
    classes.flags.writeable = False
    return classes


_CLASSES = tuple(CharacterClass)
_LETTERS = {CharacterClass.UPPER, CharacterClass.LOWER, CharacterClass.LETTER}
_WORD_STARTS = _LETTERS | {CharacterClass.DIGIT, CharacterClass.NUMBER, CharacterClass.UNDERSCORE}
LANGUAGE = _LETTERS | {
    CharacterClass.UNSPACED,
    CharacterClass.MARK,
    CharacterClass.DIGIT,
    CharacterClass.NUMBER,
}
_WHITE_SPACE = {CharacterClass.SPACE, CharacterClass.NEWLINE}
IDENTIFIER = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_IDENTIFIER_BOUNDARY = re.compile(
    rb"_+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
)
_OPERATOR = re.compile(b"|".join(map(re.escape, sorted(map(str.encode, OPERATORS), key=len, reverse=True))))


# --- characters -------------------------------------------------------------------------------


class Character(NamedTuple):
    """A character of a document: its byte offsets, its text and its class."""

    start: int
    stop: int
    text: str
    kind: CharacterClass


def characters(document: bytes, classes: bytes | NDArray[np.uint8] | None = None) -> list[Character]:
    """Return the characters of a document; a byte that belongs to none is a character of class OTHER.

    Args:
        document: bytes, UTF-8 or not.
        classes: the class of each code point; None for `character_classes()`.

    >>> [(each.start, each.stop, each.kind.name) for each in characters("7é".encode() + bytes([255]))]
    [(0, 1, 'DIGIT'), (1, 3, 'LOWER'), (3, 4, 'OTHER')]
    """
    classes = character_classes() if classes is None else classes
    result = []
    start = 0
    for text in document.decode("utf-8", "surrogateescape"):
        is_stray = "\udc80" <= text <= "\udcff"
        stop = start + (1 if is_stray else len(text.encode()))
        kind = CharacterClass.OTHER if is_stray else _CLASSES[classes[ord(text)]]
        result.append(Character(start, stop, text, kind))
        start = stop
    return result


def is_white_space(document: bytes) -> bool:
    r"""Whether a document is only white space; True for an empty one.

    >>> is_white_space(b" \r\n"), is_white_space(b" .")
    (True, False)
    """
    return all(character.kind in _WHITE_SPACE for character in characters(document))


# --- runs -------------------------------------------------------------------------------------


def joins(before: CharacterClass, joiner: str, after: CharacterClass) -> bool:
    """Whether a character joins the parts of a word: an apostrophe between letters, a point between digits.

    >>> joins(CharacterClass.LOWER, "'", CharacterClass.LOWER), joins(CharacterClass.LOWER, ".", CharacterClass.LOWER)
    (True, False)
    """
    between_letters = before in _LETTERS and after in _LETTERS
    between_digits = before == after == CharacterClass.DIGIT
    return (joiner in "'\u2019\u00b7" and between_letters) or (joiner in ".," and between_digits)


def word_stop(text: Sequence[Character], first: int) -> int:
    """Return the index after the last character of the word that begins at index `first`.

    >>> word_stop(characters(b"don't!"), 0), word_stop(characters(b"dogs' tails"), 0)
    (5, 4)
    """
    is_unspaced = text[first].kind == CharacterClass.UNSPACED
    goes_on = {CharacterClass.MARK} if is_unspaced else _WORD_STARTS | {CharacterClass.MARK}
    base = text[first].kind  # of the last character that is not a mark
    index = first + 1
    while index < len(text):
        kind = text[index].kind
        if kind in goes_on:
            base = base if kind == CharacterClass.MARK else kind
        elif index + 1 == len(text) or not joins(base, text[index].text, text[index + 1].kind):
            break
        index += 1
    return index


def words(text: Sequence[Character]) -> Iterator[Sequence[Character]]:
    """Yield the words of a text, as defined by UAX 29, but without dictionaries.

    A word is a run of letters, marks, digits, numbers and underscores that does not begin with a mark; a letter of an
    unspaced script, with the marks after it, is a word by itself.

    >>> ["".join(each.text for each in word) for word in words(characters("L'été: 1,000 m², 東京.".encode()))]
    ["L'été", '1,000', 'm²', '東', '京']
    """
    index = 0
    while index < len(text):
        if text[index].kind in _WORD_STARTS or text[index].kind == CharacterClass.UNSPACED:
            stop = word_stop(text, index)
            yield text[index:stop]
            index = stop
        else:
            index += 1


def numbers(text: Sequence[Character]) -> Iterator[Sequence[Character]]:
    """Yield the maximal runs of decimal digits, also inside words.

    >>> ["".join(each.text for each in number) for number in numbers(characters("v2: 1,234 ७".encode()))]
    ['2', '1', '234', '७']
    """
    for is_digit, run in groupby(text, key=lambda character: character.kind == CharacterClass.DIGIT):
        if is_digit:
            yield list(run)


def operators(document: bytes) -> Iterator[Span]:
    """Yield the operators of two characters or more; the longest operator matches first.

    >>> [document[slice(*span)] for document in [b"a===b<-c=d"] for span in operators(document)]
    [b'===', b'<-']
    """
    for match in _OPERATOR.finditer(document):
        yield Span(*match.span())


def indentations(document: bytes) -> Iterator[Span]:
    r"""Yield the spans of leading spaces and tabs of lines that contain more than white space.

    >>> list(indentations(b"if x:\n\ty\n  \r\n"))
    [Span(start=6, stop=7)]
    """
    start = 0
    for line in document.split(b"\n"):
        rest = line.lstrip(b" \t")
        if rest != line and not is_white_space(rest):
            yield Span(start, start + len(line) - len(rest))
        start += len(line) + 1


# --- boundaries that a tokenizer could be expected to have ------------------------------------


def digit_boundaries(number: Sequence[Character]) -> set[int]:
    """Return the positions where groups of three digits, counted from the right, would be cut.

    >>> digit_boundaries(characters(b"1234567"))
    {1, 4}
    """
    return {number[index].start for index in range(len(number) - 3, 0, -3)}


def identifier_boundaries(identifier: bytes) -> list[set[int]]:
    """Return the boundaries between the parts of an identifier: for each one, the positions that hit it.

    A run of underscores is one boundary, hit at either side that is strictly inside the identifier.

    >>> identifier_boundaries(b"getUserName"), identifier_boundaries(b"HTTPServer")
    ([{3}, {7}], [{4}])
    >>> identifier_boundaries(b"snake_case2"), identifier_boundaries(b"__init__")
    ([{5, 6}, {10}], [{2}, {6}])
    """
    positions = [
        {*match.span()} - {0, len(identifier)} for match in _IDENTIFIER_BOUNDARY.finditer(identifier)
    ]
    return [position for position in positions if position]


def white_space_around(text: Sequence[Character], run: Span) -> Span:
    """Return a run extended by the white space on both sides.

    >>> white_space_around(characters(b"a ==  b"), Span(2, 4))
    Span(start=1, stop=6)
    """
    before = bisect_left(text, run.start, key=lambda character: character.start)
    after = bisect_left(text, run.stop, key=lambda character: character.start)
    while before > 0 and text[before - 1].kind in _WHITE_SPACE:
        before -= 1
    while after < len(text) and text[after].kind in _WHITE_SPACE:
        after += 1
    return Span(text[before].start, text[after - 1].stop)
