"""NFC follows Unicode 14 on every Python."""

from __future__ import annotations

import unicodedata
from functools import cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.texts import all_characters

from tokbench.core.normal_forms import is_later, nfc

MARKS = "\u0301\u0323\u0307\u0338\u09be"


@cache
def later() -> str:
    return "".join(filter(is_later, all_characters()))


def test_marks_are_not_reordered_across_later_marks() -> None:
    assert nfc("a\u0323\u0301\U0001e08f\u0301\u0323") == "ạ\u0301\U0001e08f\u0323\u0301"


def test_later_characters_do_not_compose() -> None:
    for parts in ("\U000105d2\u0307", "\U00011382\U000113c9", "\U0001611e\U0001611e", "\U00016d67\U00016d67"):
        assert nfc(parts) == parts


@pytest.mark.parametrize("version", ["14.0.0", "15.1.0"])
@given(text=st.text(st.deferred(lambda: st.sampled_from("ae가ᄀ字" + MARKS + later()))))
@example(text="")
def test_nfc_equals_that_of_unicode_14(version: str, text: str) -> None:
    """Later characters are starters that never compose: in the expected text, U+1F642 stands in for them meanwhile."""
    stand_ins = text.translate(dict.fromkeys(map(ord, later()), "\U0001f642"))
    with pytest.MonkeyPatch.context() as patch:
        if unicodedata.unidata_version == "14.0.0":  # with newer data, NFC needs the path of newer versions
            patch.setattr(unicodedata, "unidata_version", version)
        normalized = nfc(text)
    places = iter([character for character in text if is_later(character)])
    expected = unicodedata.normalize("NFC", stand_ins)
    assert normalized == "".join(
        next(places) if character == "\U0001f642" else character for character in expected
    )


def test_later_characters_are_unassigned_in_unicode_14() -> None:
    if unicodedata.unidata_version != "14.0.0":
        pytest.skip("this Python has another Unicode")
    assert len(later()) > 100
    assert {unicodedata.category(character) for character in later()} == {"Cn"}
