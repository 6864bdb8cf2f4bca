"""The character classes that the counting kernel distinguishes."""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
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
