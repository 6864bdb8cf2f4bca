"""Tests for the character classes by their Unicode properties, and for the names of counts."""

from __future__ import annotations

import numpy as np
import pytest
import regex
from support.texts import all_characters

from tokbench.metrics.metric import COUNTS, DOCUMENT_COUNTS, MEANINGS, OPERATORS
from tokbench.metrics.text_runs import CharacterClass, character_classes


def of_classes(kind: CharacterClass) -> set[str]:
    """Return the characters of a class."""
    return set(map(chr, np.flatnonzero(character_classes() == int(kind)).tolist()))


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        (CharacterClass.UPPER, r"[\p{Lu}\p{Lt}]"),
        (CharacterClass.LOWER, r"\p{Ll}"),
        (CharacterClass.MARK, r"[\p{M}\u200c\u200d]"),
        (CharacterClass.DIGIT, r"\p{Nd}"),
        (CharacterClass.NUMBER, r"[\p{Nl}\p{No}]"),
        (CharacterClass.UNDERSCORE, r"_"),
        (CharacterClass.NEWLINE, r"[\n\v\f\r\x85\u2028\u2029]"),
    ],
)
def test_character_class_equals_its_unicode_properties(kind: CharacterClass, pattern: str) -> None:
    assert of_classes(kind) == set(regex.findall(pattern, all_characters()))


def test_letters_without_case_are_spaced_or_unspaced() -> None:
    unspaced = of_classes(CharacterClass.UNSPACED)
    letters = of_classes(CharacterClass.LETTER) | unspaced
    assert letters == set(regex.findall(r"[\p{Lm}\p{Lo}]", all_characters()))
    assert set("漢字ひらカター々กຂកမབꦏ") <= unspaced
    assert unspaced.isdisjoint("한국어नमعربאაʰªº")


def test_white_space_equals_the_unicode_property() -> None:
    white_space = of_classes(CharacterClass.SPACE) | of_classes(CharacterClass.NEWLINE)
    assert white_space == set(regex.findall(r"\p{White_Space}", all_characters()))
    assert (character_classes()[0xD800:0xE000] == CharacterClass.OTHER).all()


def test_every_count_has_a_name_and_a_meaning() -> None:
    assert len(set(COUNTS)) == len(COUNTS) == len(MEANINGS)
    assert DOCUMENT_COUNTS[: len(COUNTS)] == COUNTS
    assert len(set(DOCUMENT_COUNTS)) == len(DOCUMENT_COUNTS)
    assert len(set(OPERATORS)) == len(OPERATORS)
    assert all(len(operator) > 1 and operator.isascii() for operator in OPERATORS)
