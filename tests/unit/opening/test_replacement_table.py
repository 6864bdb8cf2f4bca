"""Tests that SentencePiece's replacement table normalizes every text as the `tokenizers` library does."""

from __future__ import annotations

import unicodedata
from functools import cache
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sentencepiece_models import charsmap
from support.texts import texts
from tokenizers.normalizers import Precompiled

from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.opening.replacement_table import ReplacementTable, joining, texts_written
from tokbench.opening.tokenizer_json_tokens import NotNativeError

pytestmark = pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")

TABLE = charsmap("nmt_nfkc")


@cache
def table() -> ReplacementTable:
    return ReplacementTable(TABLE)


def test_normalization_of_a_worked_example() -> None:
    assert (
        table()("ﬁ①\tA\u00a0e\u0301 \r\n") == "fi1 A é  "
    )  # the line end \r\n is a single character to the library
    assert {"f", "é", "⁇"} & set(texts_written(TABLE)) == {"f", "é"}


def test_only_lines_with_uncertain_clusters_are_left_to_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "ﬁ①\r\nﬁ\nﬁe\u0301\u2028\u0301①\x85ﬁ\nﬁ\u0600①\nﬁ"
    assert table()(text) == "fi1 fi fié \u03011\x85fi fi\u06001 fi"
    assert table()(text) == Precompiled(TABLE).normalize_str(text)
    monkeypatch.setattr(table(), "_library", SimpleNamespace(normalize_str=lambda line: f"<{line}>"))
    assert table()(text) == "fi1 fi fié \u03011\x85fi <ﬁ\u0600①\n>fi"


@pytest.mark.parametrize("joined", "\u0301\u0e33\u0eb3\uff9e\uff9f")
def test_characters_that_join_a_replaced_one_are_dropped_as_by_the_library(joined: str) -> None:
    """A cluster of fewer than six bytes is replaced by what its shortest key is."""
    assert table()(f"½{joined}") == Precompiled(TABLE).normalize_str(f"½{joined}") == "1⁄2"


LETTERS_AND_SYMBOLS_THAT_JOIN = [
    *[0x0D4E, 0x0E33, 0x0EB3, 0xFF9E, 0xFF9F, 0x111C2, 0x111C3, 0x113D1, 0x1193F, 0x11941, 0x11A3A],
    *range(0x11A84, 0x11A8A),
    *[0x11D46, 0x11F02],
    *range(0x1F3FB, 0x1F400),
]


FRAGMENTS = [
    *["\u2028", "\x85", "\v", "\x1c"],
    *["e", "\u0301", "\u0600", "\r", "\n", "ﬁ", "①", "\u200d", "\r\n", " ", "\u05b0", "ש", "\x7f"],
    *["क्ष", "\u1112\u1161", "👩🏽", "\u0e33", "한"],
]


@given(st.lists(st.sampled_from(FRAGMENTS) | st.characters(exclude_categories=["Cs"]), max_size=12) | texts)
def test_any_text_is_normalized_as_by_the_library(parts: list[str] | str) -> None:
    text = "".join(parts)
    assert table()(text) == Precompiled(TABLE).normalize_str(text)


def test_non_joining_characters_normalize_independently() -> None:
    codes = [*range(0x3400), *range(0xA000, 0xAC00), *range(0xD7A0, 0xD800), *range(0xF900, 0x20000)]
    alone = "".join(map(chr, [code for code in codes if not joining()[code]]))
    text = "".join(f"{character}a{character}{character}" for character in alone).replace("\r\n", "\n")
    assert table().replaces_each(text)
    assert table()(text) == Precompiled(TABLE).normalize_str(text)


def test_characters_of_a_replaced_cluster_are_not_replaced_each_by_itself() -> None:
    assert table().replaces_each("ﬁ x\u0323\u05b0 क्ष 👩🏽")
    assert not any(map(table().replaces_each, ["e\u0301", "ﬁ\u0323", "a\r\nb", "a\u0600b"]))


def test_marks_format_characters_and_unassigned_ones_do_not_stand_alone() -> None:
    given_classes = joining()
    joined = []
    for code in range(0x110000):
        if unicodedata.category(chr(code)) in ("Mn", "Me", "Mc", "Cf", "Cn"):
            assert given_classes[code], hex(code)
        elif given_classes[code] and not 0xD800 <= code < 0xE000:
            joined.append(code)
    assert set(joined) - set(LETTERS_AND_SYMBOLS_THAT_JOIN) == set()
    letters = map(ord, "aZé中ה\ue000\U000f0000\U0010fffd😀")
    assert not any(given_classes[code] for code in letters)


def test_damaged_tables_are_left_to_the_library() -> None:
    size = int.from_bytes(TABLE[:4], "little")
    for damaged in (TABLE[:4], TABLE[: size // 2], TABLE[: 4 + size] + b"\xff" * 300 + b"\0"):
        with pytest.raises(NotNativeError, match="its table of replacements is not supported"):
            ReplacementTable(damaged)


def test_surrogates_are_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        table()("a\ud800")
