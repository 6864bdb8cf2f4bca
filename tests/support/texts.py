"""Sample texts for tokenizers: one character of each kind, Hypothesis strategies, the bundled corpora."""

from __future__ import annotations

import unicodedata
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

import regex
from hypothesis import strategies as st

from tokbench.files.bundled import bundled_files

if TYPE_CHECKING:
    from collections.abc import Callable

REPRESENTATIVES = (
    "aA"  # letters that are part of no contraction
    "stlvreSL"  # letters of contractions
    "\u017f"  # long s, which folds to s
    "\u01c5"  # a titlecase letter
    "\u02b0"  # a modifier letter, neither small nor capital
    "亜"  # another letter without case
    "\u0301\u0903"  # a mark that takes no space, and one that does
    "1\u0663\u2167\u00bd"  # digits of one byte and of two, a letter number, a fraction
    " \t\r\n"
    "\u0085\u00a0\u3000"  # white space of two and three bytes
    "\u001c\u200b"  # a control and an invisible character that only some definitions of white space include
    "'_/.\u20ac"  # punctuation of one byte and of three
    "\U0001f642"  # a symbol of four bytes
)
"""One character of each kind that some scanner, or some mistake in one, can tell apart."""

FEW_REPRESENTATIVES = "aAsl亜\u02b0\u03011 \t\r\n\u3000'/."
"""The most important of them: the ones that the rules distinguish most."""

_FRAGMENTS = [
    *REPRESENTATIVES,
    *["'ll", "'S", "'re", "\u2019t", "don't", "the", " The", "HTTPServer", "getUserName", "snake_case", "ЁЖ"],
    *["  ", "        ", "\n\n", "\r\n", "\n  ", " \n", "\t\t", "//", "...", "!/\n", "12345", " 1", "½٣"],
    *["e\u0301", "한국어", "\u1100\u1161\u11a8", "日本", "नमस्ते", "ไทย", "العربية"],
    *["👩\u200d👩\u200d👧", "🇩🇪"],
]

LOW_LOWER = "low lower lowest, new newer newest; wide wider widest!\n" * 3
"""A text with enough repetition to learn merges from."""

characters = st.characters(exclude_categories=["Cs"])
"""Any character except surrogates, which UTF-8 cannot encode."""

texts = st.lists(st.sampled_from(_FRAGMENTS) | characters, max_size=25).map("".join)
"""Texts of awkward fragments mixed with any characters."""

_letters = st.sampled_from(["a", "ab", "ba", "aab", "abc"]) | st.integers(2, 9).map("a".__mul__)

words = st.lists(_letters, min_size=1, max_size=12).map("".join)
"""Words of few letters, in which pairs repeat and overlap."""

corpora = st.dictionaries(words | texts.filter(bool), st.integers(1, 5), min_size=1, max_size=5)
"""Words with their counts."""

long_words = st.lists(words, max_size=30).map("".join)
"""Words of up to some hundred bytes: the native kernel merges more than 16 by groups, more than 256 by a heap."""


@cache
def bundled_texts() -> dict[str, str]:
    """Return the bundled corpora by their paths below `corpora/`."""
    return {
        file.name: file.path.read_bytes().decode()
        for file in sorted(bundled_files(), key=lambda file: file.name)
    }


@cache
def all_characters() -> str:
    """Return every code point that is not a surrogate."""
    return "".join(chr(code_point) for code_point in range(0x110000) if not 0xD800 <= code_point < 0xE000)


@cache
def characters_in_use() -> str:
    """Return every character of the ranges in use, and every 64th code point of the uniform rest."""
    return "".join(
        character
        for character in all_characters()
        if (code_point := ord(character)) < 0x33480
        or 0xE0000 <= code_point < 0xE0200
        or code_point % 64 == 63
    )


@cache
def characters_of_all_kinds() -> str:
    """Return all characters, but only every 61st from the middle of long runs of one category, such as ideographs."""
    runs = (list(run) for _, run in groupby(all_characters(), key=unicodedata.category))
    return "".join(
        "".join(run if len(run) <= 64 else [*run[:32], *run[32:-32:61], *run[-32:]]) for run in runs
    )


CLASSES = [r"[\p{Lu}\p{Lt}]", r"\p{Ll}", r"[\p{Lm}\p{Lo}]", r"\p{M}", r"\p{N}", r"\s"]
"""The character classes used by the named patterns; they treat all other characters as punctuation."""


def characters_alike(found_by: Callable[[str, str], str], *, among: str) -> str:
    """Return the characters that a peer puts into the same classes as the `regex` package does.

    Libraries use the tables of different Unicode versions, so that they can only be expected to split alike
    on characters whose classes they agree on.

    Args:
        found_by: (class, text) → the characters of the text that the peer finds in the class.
        among: the characters to compare.
    """
    differing = {
        character
        for character_class in CLASSES
        for character in set(regex.findall(character_class, among)) ^ set(found_by(character_class, among))
    }
    return "".join(character for character in among if character not in differing)
