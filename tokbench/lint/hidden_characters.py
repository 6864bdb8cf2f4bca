"""Invisible characters, and characters that look like others."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from tokbench.lint.confusables import CONFUSABLES

BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""The marks of the bidirectional algorithm."""

ZERO_WIDTH = frozenset(
    "\u00ad\u034f\u115f\u1160\u180e\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\u3164\ufeff\uffa0"
)
"""Joiners, soft hyphens, fillers and byte order marks."""

JOINERS = frozenset("\u200c\u200d")
"""Joiners, which Indic scripts, Persian and emoji need."""

TAGS = frozenset(map(chr, range(0xE0000, 0xE0080)))
"""Tag characters: invisible copies of ASCII, used only in the flags of regions."""

LOOK_ALIKES = {
    **{character: plain for plain, others in CONFUSABLES.items() if plain.isalpha() for character in others},
    **dict(zip("аеорсухіјѕһԁԛԝѵ", "aeopcyxijshdqwv", strict=True)),
    **dict(zip("АВЕКМНОРСТХУІЈЅ", "ABEKMHOPCTXYIJS", strict=True)),
    **dict(zip("ονΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ovABEZHIKMNOPTYX", strict=True)),
}
"""Character that looks like a Latin letter → that letter."""

_FORMULA_LETTERS = frozenset("αγικρστυφω")
"""Greek letters that are common beside Latin ones in formulas, and not suspicious there."""

_SIGNS = {
    **{
        character: plain
        for plain, others in CONFUSABLES.items()
        if not plain.isalpha()
        for character in others
    },
    **dict.fromkeys("\u2039\u2329\u3008\u27e8\u02c2", "<"),
    **dict.fromkeys("\u203a\u232a\u3009\u27e9\u02c3", ">"),
    **dict.fromkeys("\u01c0\u2223\u2502\u00a6", "|"),
    **dict.fromkeys("\u2044\u2215\u29f8", "/"),
}
_PLAIN_CONTROLS = frozenset("\t\n\r\f\v")


def looks_latin(letter: str) -> bool:
    """Whether a non-Latin letter looks like a Latin one, by its shape or as a styled form.

    >>> looks_latin("а"), looks_latin("𝐩"), looks_latin("ж"), looks_latin("º")
    (True, True, False, False)
    """
    if letter in LOOK_ALIKES:
        return letter not in _FORMULA_LETTERS
    form, _, plain = unicodedata.decomposition(letter).partition(" ")
    return form in ("<font>", "<wide>") and plain.isalnum() and chr(int(plain, 16)).isascii()


def is_control(character: str) -> bool:
    """Whether a character is a control character other than white space."""
    return unicodedata.category(character) == "Cc" and character not in _PLAIN_CONTROLS


def code_point(character: str) -> str:
    r"""Format a character by its code point and name.

    >>> code_point("\u200b")
    'U+200B ZERO WIDTH SPACE'
    """
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X} {name}".rstrip()


@lru_cache(maxsize=4096)
def drawn_as(character: str) -> str:
    r"""Return what a character looks like, in lower-case ASCII if possible; empty for an invisible character.

    >>> drawn_as("｜"), drawn_as("А"), drawn_as("\u200b")
    ('|', 'a', '')
    """
    if character in ZERO_WIDTH or character in BIDI or character in TAGS or character == "\ufe0f":
        return ""
    plain = unicodedata.normalize("NFKC", character)
    return "".join(LOOK_ALIKES.get(letter, _SIGNS.get(letter, letter)) for letter in plain).lower()
