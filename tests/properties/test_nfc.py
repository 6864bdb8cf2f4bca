"""The kernel's NFC agrees with Python's, with its own definition, and with that of `tokenizers` where claimed."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.texts import characters_in_use

from tokbench.core.normal_forms import canonical_parts, nfc
from tokbench.opening.unicode_agreement import UnicodeAgreement, tokenizers_members

_bpe = pytest.importorskip("tokbench.native._bpe")

MANY_ALIKE = frozenset(
    map(
        chr,
        [*range(0x3400, 0xA000), *range(0xAC01, 0xD7A4), *range(0x17000, 0x19000), *range(0x20000, 0x32000)],
    )
)
# Characters that compose, reorder or block composition: letters of several scripts, jamo, and marks of many classes.
LIVELY = "aeéẹẹ́Å\u212bক\u09c7\u09cb\u1025かｶ가각\u1100字’ "
MARKS = "\u0301\u0308\u0323\u0338\u0345\u0344\u0340\u093c\u09be\u09d7\u102e\u103a\u3099\u0f71\u0f72\u0f73\u1161\u11a8"
TEXTS = st.text(st.one_of(st.sampled_from(LIVELY + MARKS * 2), st.characters(codec="utf-8")), max_size=40)
LONG = st.builds("".join, st.lists(st.one_of(TEXTS, st.sampled_from(["x" * 61, "字" * 21, "’" * 20]))))


def assert_normal(text: str) -> None:
    expected = nfc(text)
    assert _bpe.nfc(text) == expected
    assert _bpe.nfc_by_definition(text) == expected


@given(text=LONG)
@example(text="é\u0323")  # a mark that belongs between the parts of é
@example(text="\u09c7\u09be\u09d7")
@example(text="a\u0338\u0338\u0301")
@example(text="\u0301\u0323")
@example(text="\u0f71\u0f71\u0f72\u0f74")
def test_nfc_of_any_text_equals_pythons(text: str) -> None:
    assert_normal(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("a", "\u0301"),
        ("é", "\u0323b"),
        ("a\u0323", "\u0338"),
        ("\u09c7", "\u11a8"),
        ("\u1100", "字"),
    ],
)
def test_nfc_of_every_character_equals_pythons(before: str, after: str) -> None:
    characters = characters_in_use()
    for start in range(0, len(characters), 4096):
        assert_normal("\n".join(before + character + after for character in characters[start : start + 4096]))


def test_all_characters_with_canonical_decompositions_are_found() -> None:
    found = {chr(point): unicodedata.decomposition(chr(point)) for point in range(0x110000)}
    expected = {
        whole: tuple(chr(int(part, 16)) for part in parts.split())
        for whole, parts in found.items()
        if parts and not parts.startswith("<")
    }
    assert canonical_parts() == expected


def test_nfc_of_every_composing_pair_equals_pythons() -> None:
    pairs = [parts for parts in canonical_parts().values() if len(parts) == 2]
    firsts, seconds = sorted({first for first, _ in pairs}), sorted({second for _, second in pairs})
    for second in seconds:
        assert_normal("\n".join(first + second for first in firsts))
        assert_normal("\n".join(f"{first}\u0334{second}\u0315" for first in firsts))


def test_normalized_text_is_returned_as_the_same_string() -> None:
    for text in (
        "",
        "abc",
        "žluťoučký kůň",
        "ভালোবাসা",
        "မြန်မာ",
        "தமிழ் நாடு",
        "العَرَبِيَّة",
        "한국어",
        "日本語" * 40,
    ):
        normal = nfc(text)
        assert _bpe.nfc(normal) is normal
    with pytest.raises(UnicodeEncodeError):
        _bpe.nfc("\ud800")


@pytest.mark.parametrize("kernel", ["native", "fallback"])
def test_covered_text_is_normalized_as_by_tokenizers(kernel: str) -> None:
    normalizers = pytest.importorskip("tokenizers.normalizers")
    agreement = UnicodeAgreement(tokenizers_members, kernel=kernel, nfc=True)
    theirs = normalizers.NFC()
    asked = {
        character
        for character in characters_in_use()
        if unicodedata.category(character) not in {"Cn", "Co"} and character not in MANY_ALIKE
    }
    covered = asked - agreement.disputed_among(asked)
    assert {"\u103a", "\u1039", "\u0f39", "é", "ক", "\u09be", "\u1161"} <= covered
    text = "\n".join(f"a{character}\u0323\u0301 \u0f74{character}b" for character in sorted(covered))
    assert theirs.normalize_str(text) == nfc(text) == _bpe.nfc(text)
    assert agreement.covers(_bpe.nfc(text))
