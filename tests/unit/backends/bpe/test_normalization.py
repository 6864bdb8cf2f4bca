"""NFC, and the mapping of its bytes back to those of the text."""

from __future__ import annotations

import unicodedata
from itertools import pairwise
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts import bundled_texts, texts

from tokbench.backends.bpe.normalization import NfcAlignment
from tokbench.backends.bpe.split_patterns import SplitPattern
from tokbench.core.tokens import Span

COMPOSING = [
    *"aeo\u0928\u0915\u09c7\u0bc6\u1025\u3046",  # compose with the next character
    *"\u0301\u0308\u0323\u0327\u0338\u0345",  # marks of several classes
    *"\u09be\u0bd7\u102e",  # compose with the previous character, though of combining class 0
    *"\u1100\u1161\u11a8\uac00\uac01",  # Hangul as letters and as syllables
    *"\u00e9\u1e69\u212b\u0958\u2126\u0344\u0385",  # composed characters, or ones with another form
    *"\u0f71\u0f72\u0f73\u0f74\u0f81\u093c\u3099",  # marks, and characters that decompose into marks only
    *"x1 \n",
]

composing_texts = st.text(st.sampled_from(COMPOSING), max_size=12) | texts


def spans_of(text: str) -> list[Span]:
    """Return the UTF-8 spans of the text's characters."""
    ends = [0]
    for character in text:
        ends.append(ends[-1] + len(character.encode()))
    return [Span(start, stop) for start, stop in pairwise(ends)]


@given(text=composing_texts)
def test_normalization_is_nfc_or_identity(text: str) -> None:
    assert SplitPattern("none", None, normalization="nfc").normalized(text) == unicodedata.normalize(
        "NFC", text
    )
    assert SplitPattern("none", None).normalized(text) is text


@given(text=composing_texts)
def test_original_spans_are_ordered_and_cover_the_text(text: str) -> None:
    alignment = NfcAlignment(text)
    size = len(text.encode())
    originals = [alignment.original(span) for span in spans_of(unicodedata.normalize("NFC", text))]
    covered = 0
    for before, span in pairwise([Span(0, 0), *originals]):
        assert before.start <= span.start <= covered
        assert before.stop <= span.stop <= size
        assert span.start < span.stop
        covered = span.stop
    assert covered == size


@given(text=composing_texts)
def test_original_span_normalizes_to_its_normalized_text(text: str) -> None:
    data, normal = text.encode(), unicodedata.normalize("NFC", text)
    alignment = NfcAlignment(text)
    for span in spans_of(normal):
        start, stop = alignment.original(span)
        origin = unicodedata.normalize("NFC", data[start:stop].decode())
        assert normal.encode()[span.start : span.stop].decode() in origin


@given(text=composing_texts)
def test_whole_normalized_text_maps_to_the_whole_text(text: str) -> None:
    normal_size, size = len(unicodedata.normalize("NFC", text).encode()), len(text.encode())
    assert NfcAlignment(text).original(Span(0, normal_size)) == Span(0, size)


@given(text=composing_texts)
def test_nfc_text_maps_to_itself(text: str) -> None:
    normal = unicodedata.normalize("NFC", text)
    alignment = NfcAlignment(normal)
    size = len(normal.encode())
    for start in range(size):
        for stop in range(start + 1, size + 1):
            assert alignment.original(Span(start, stop)) == Span(start, stop)


def test_part_of_a_changed_character_maps_to_the_whole_character() -> None:
    alignment = NfcAlignment("ae\u0301b")  # aéb: é has two bytes there, and three in the text
    assert alignment.original(Span(1, 2)) == alignment.original(Span(2, 3)) == Span(1, 4)
    assert alignment.original(Span(0, 2)) == Span(0, 4)
    assert alignment.original(Span(2, 4)) == Span(1, 5)
    assert alignment.original(Span(3, 4)) == Span(4, 5)


def test_only_changed_characters_map_coarsely() -> None:
    text = "né " + "e\u0301" + "né"
    alignment = NfcAlignment(text)
    normal = unicodedata.normalize("NFC", text)
    assert [alignment.original(span) for span in spans_of(normal)] == [
        *spans_of("né "),
        Span(4, 7),
        *[Span(span.start + 7, span.stop + 7) for span in spans_of("né")],
    ]


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("\u1100\u1161\u11a8x", [Span(0, 9), Span(9, 10)]),  # Hangul letters compose to one syllable
        ("\u09c7\u09bex", [Span(0, 6), Span(6, 7)]),  # two characters of combining class 0 compose
        ("\u0928\u0f73\u093c", [Span(0, 9), Span(0, 9), Span(0, 9)]),  # the nukta passes the marks between
    ],
)
def test_composing_characters_map_together(text: str, runs: list[Span]) -> None:
    alignment = NfcAlignment(text)
    assert [alignment.original(span) for span in spans_of(unicodedata.normalize("NFC", text))] == runs


@pytest.mark.parametrize("name", sorted(name for name in bundled_texts() if name.startswith("edge")))
def test_edge_case_texts_map_back(name: str) -> None:
    for form in ("NFC", "NFD"):
        text = unicodedata.normalize(form, bundled_texts()[name])
        alignment = NfcAlignment(text)
        data, normal = text.encode(), unicodedata.normalize("NFC", text)
        for span in spans_of(normal):
            start, stop = alignment.original(span)
            assert normal.encode()[span.start : span.stop].decode() in unicodedata.normalize(
                "NFC", data[start:stop].decode()
            )


@pytest.mark.timed
@pytest.mark.parametrize(
    "character", ["e\u0301", "\u0301", "\u0f73", "\u1161", "\u09be", "\u1100\u1161", "x"]
)
def test_long_texts_are_aligned_in_bounded_time(character: str) -> None:
    started = perf_counter()
    NfcAlignment(character * 10_000)
    assert perf_counter() - started < 10  # seconds; it takes a fraction of one
