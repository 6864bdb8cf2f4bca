"""Texts that a normal form leaves unchanged: what is said of them without normalizing is true."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts import characters_in_use

pytest.importorskip("tokbench.native._bpe")

from tokbench.opening.still_characters import StillCharacters

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
STILL = {form: StillCharacters(form) for form in FORMS}
MARKS = "\u0301\u0323\u0334\u0e38\u0e48\u094d\u064b\u0651\u05b0\u09be\u0bbe\u1161\u11a8"
TEXTS = st.text(
    st.one_of(st.sampled_from("ae각가ক\u09c7ക\u1100\ufb01กA\u030a" + MARKS), st.characters(codec="utf-8"))
)


@pytest.mark.parametrize("form", FORMS)
@given(text=TEXTS)
def test_unchanged_text_and_its_suffixes_are_in_normal_form(form: str, text: str) -> None:
    if STILL[form].leaves(text):
        assert unicodedata.normalize(form, text) == text
        assert all(unicodedata.is_normalized(form, text[start:]) for start in range(len(text)))


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_unchanged_characters_neither_compose_nor_reorder(form: str) -> None:
    still = STILL[form]
    left = list(filter(still.leaves, characters_in_use()))
    assert len(left) > 100_000
    for before in filter(still.leaves, "a각ক\u1100\u0301"):
        for start in range(0, len(left), 1000):
            pairs = [before + character for character in left[start : start + 1000]]
            # Every part of a normalized text is normalized, so that a thousand pairs are checked at once.
            if still.leaves(together := "".join(pairs)):
                assert unicodedata.normalize(form, together) == together
            else:
                assert all(unicodedata.normalize(form, pair) == pair for pair in pairs if still.leaves(pair))


def test_ordinary_texts_of_many_scripts_are_unchanged() -> None:
    for text in ("žluťoučký kůň", "Việt Nam", "ภาษาไทย", "हिन्दी", "العَرَبِيَّة", "한국어", "日本語", "🙂👍🏽"):
        assert STILL["NFC"].leaves(unicodedata.normalize("NFC", text))
    assert not STILL["NFC"].leaves("e\u0301")
    assert not STILL["NFC"].leaves("가\u11a8")
    with pytest.raises(UnicodeEncodeError):
        STILL["NFC"].leaves("é\ud800")
