"""The native scanners split like the `regex` package: exhaustively on short strings, on random text, and on real text.

`split.split` is the definition (the Python kernel splits with it too), so these tests
compare the native kernel with it; the last ones compare the definition with Oniguruma, which
`tokenizers` splits with, and with recorded pieces.
"""

from __future__ import annotations

import json
import os
from functools import cache
from itertools import islice, pairwise, product
from typing import TYPE_CHECKING

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from support.texts import (
    CLASSES,
    FEW_REPRESENTATIVES,
    REPRESENTATIVES,
    all_characters,
    bundled_texts,
    characters_alike,
    texts,
)
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

from tokbench.backends.bpe.split_patterns import PATTERN_NAMES, resolve_pattern, split, split_offsets

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tokbench.backends.bpe.kernel import Kernel

SPLITTING = [name for name in PATTERN_NAMES if name != "none"]
CONTEXTS = ["a{}a", " {} ", "1{}'S", "A{}\n"]
"""Contexts with letters, spaces, a digit, a contraction and a line end around a character."""


def first_difference(
    kernel: Kernel, name: str, texts: Iterable[str]
) -> tuple[str, list[int], list[int]] | None:
    """Return the first text that a kernel splits differently, with its ends and those of the definition."""
    pattern = resolve_pattern(name)
    for text in texts:
        found, expected = kernel.split(name, text.encode()).tolist(), split_offsets(pattern, text)
        if found != expected:
            return text, found, expected
    return None


def strings(alphabet: str, length: int) -> Iterable[str]:
    return map("".join, product(alphabet, repeat=length))


def some(all_of_them: Iterable[str]) -> Iterable[str]:
    """Yield every 19th, which covers every character in every position; all would take half a minute for each pattern.

    Yield all of them under HYPOTHESIS_PROFILE=thorough.
    """
    return islice(all_of_them, 0, None, 1 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 19)


# Every short string


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("name", PATTERN_NAMES)
def test_every_string_of_up_to_three_kinds_of_character_splits_alike(
    native: Kernel, name: str, length: int
) -> None:
    assert first_difference(native, name, strings(REPRESENTATIVES, length)) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", SPLITTING)
def test_strings_of_four_kinds_of_character_split_alike(native: Kernel, name: str) -> None:
    assert first_difference(native, name, some(strings(REPRESENTATIVES, 4))) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", SPLITTING)
def test_strings_of_five_common_kinds_of_character_split_alike(native: Kernel, name: str) -> None:
    assert first_difference(native, name, some(strings(FEW_REPRESENTATIVES, 5))) is None


# The tiers: "scalar" reads character by character, the others blocks of 64 bytes where possible

TIERS = ["swar", "avx2", "avx512"]


def split_in(tier: str, name: str, data: bytes) -> list[int]:
    from tokbench.native import _bpe

    try:
        ends: list[int] = _bpe.split(name, data, tier).tolist()
    except ValueError as error:
        pytest.skip(str(error))
    return ends


@cache
def texts_around_blocks(length: int) -> list[bytes]:
    """Return a text for each short string, which is in it at two places of blocks of 64 bytes."""
    before = "".join("wo rd's, 12345!\n  "[number % 18] for number in range(64))
    return [
        f"{before[: number % 64]}{string}x {string}{before[::-1]}".encode()
        for number, string in enumerate(strings(REPRESENTATIVES, length))
    ]


@cache
def scalar_ends_around_blocks(name: str, length: int) -> list[list[int]]:
    """Return the ends in these texts by the scalar code, computed once for all tiers."""
    return [split_in("scalar", name, data) for data in texts_around_blocks(length)]


@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("name", SPLITTING)
@pytest.mark.parametrize("tier", TIERS)
def test_simd_tier_splits_short_strings_anywhere_in_a_block(
    native: Kernel, tier: str, name: str, length: int
) -> None:
    for data, ends in zip(texts_around_blocks(length), scalar_ends_around_blocks(name, length), strict=True):
        assert split_in(tier, name, data) == ends, data


@pytest.mark.parametrize("name", PATTERN_NAMES)
@pytest.mark.parametrize("tier", TIERS)
@given(parts=st.lists(texts, max_size=8))
def test_simd_tier_splits_any_text_as_the_scalar_code(
    native: Kernel, tier: str, name: str, parts: list[str]
) -> None:
    data = " word".join(parts).encode()
    assert split_in(tier, name, data) == split_in("scalar", name, data)


@pytest.mark.parametrize("name", PATTERN_NAMES)
@pytest.mark.parametrize("tier", TIERS)
@given(data=st.binary(max_size=300))
def test_simd_tier_splits_any_bytes_as_the_scalar_code(
    native: Kernel, tier: str, name: str, data: bytes
) -> None:
    assert split_in(tier, name, data) == split_in("scalar", name, data)


@cache
def ends_in_bundled_texts(name: str) -> list[list[int]]:
    """Return the ends by definition, computed once for all tiers."""
    return [split_offsets(resolve_pattern(name), text) for text in bundled_texts().values()]


@pytest.mark.slow
@pytest.mark.parametrize("name", PATTERN_NAMES)
@pytest.mark.parametrize("tier", ["scalar", *TIERS])
def test_simd_tier_splits_the_bundled_texts_as_the_definition(native: Kernel, tier: str, name: str) -> None:
    for text, ends in zip(bundled_texts().values(), ends_in_bundled_texts(name), strict=True):
        assert split_in(tier, name, text.encode()) == ends


# Every code point


@cache
def class_numbers() -> np.ndarray:
    from tokbench.native import _bpe

    return np.fromiter(map(_bpe.class_of, range(0x110000)), np.uint8, 0x110000)


def test_every_code_point_has_its_class_in_the_regex_package(native: Kernel) -> None:
    expected = np.zeros(0x110000, np.uint8)
    for number, each in enumerate(CLASSES, start=1):
        expected[[ord(character) for character in regex.findall(each, all_characters())]] = number
    assert np.flatnonzero(class_numbers() != expected).tolist() == []


def test_white_space_is_the_25_code_points_of_white_space(native: Kernel) -> None:
    space = CLASSES.index(r"\s") + 1
    assert np.flatnonzero(class_numbers() == space).tolist() == [
        *range(0x09, 0x0E),
        *[0x20, 0x85, 0xA0, 0x1680],
        *range(0x2000, 0x200B),
        *[0x2028, 0x2029, 0x202F, 0x205F, 0x3000],
    ]


def in_contexts(characters: Iterable[str]) -> Iterable[str]:
    return (context.format(character) for character in characters for context in CONTEXTS)


@pytest.mark.parametrize("name", SPLITTING)
def test_code_points_at_range_ends_split_alike_in_four_contexts(native: Kernel, name: str) -> None:
    numbers = class_numbers()
    firsts = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    utf8_lengths_change = [0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF]
    code_points = sorted({*firsts.tolist(), *(firsts - 1).tolist(), *utf8_lengths_change})
    characters = [chr(code_point) for code_point in code_points if not 0xD800 <= code_point < 0xE000]
    assert first_difference(native, name, in_contexts(characters)) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", SPLITTING)
def test_every_code_point_splits_alike_in_four_contexts(native: Kernel, name: str) -> None:
    # Every 16th of the ideographs and Hangul and of plane 1, whose ends of ranges are compared above, and every
    # 64th from plane 2 on, which is almost only ideographs. A thousand characters are one text: its pieces differ as
    # soon as those of one character do.
    code_points = [
        *range(0x3400),
        *range(0x3400, 0xD7A4, 16),
        *range(0xD7A4, 0xD800),
        *range(0xE000, 0x10000),
    ]
    code_points += [*range(0x10000, 0x20000, 16), *range(0x20000, 0x110000, 64)]
    blocks = (code_points[start : start + 1000] for start in range(0, len(code_points), 1000))
    assert first_difference(native, name, ("".join(in_contexts(map(chr, block))) for block in blocks)) is None


# Any text


@pytest.mark.parametrize("name", PATTERN_NAMES)
@given(text=texts)
def test_any_text_splits_alike(native: Kernel, name: str, text: str) -> None:
    assert first_difference(native, name, [text]) is None


@pytest.mark.parametrize("name", PATTERN_NAMES)
def test_bundled_texts_split_alike(native: Kernel, name: str) -> None:
    assert first_difference(native, name, bundled_texts().values()) is None


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("name", SPLITTING)
def test_real_texts_split_alike(native: Kernel, shared: Path, name: str) -> None:
    paths = [*(shared / "corpora/parallel_ntrex").glob("*.txt"), *(shared / "corpora/code").glob("*.txt")]
    texts = (path.read_bytes().decode()[:50_000] for path in paths)
    assert first_difference(native, name, texts) is None


# Bytes that are not UTF-8: text never contains them, but the kernel accepts bytes

INVALID = [
    *[bytes([lead]) for lead in range(0x80, 0x100)],  # lone continuation and lead bytes
    *[bytes([lead]) + b"\x80" * n for lead in range(0xC0, 0x100) for n in (1, 2, 3, 4)],
    *["é亜🙂"[i].encode()[:cut] for i in range(3) for cut in range(1, i + 2)],  # truncated
    b"\xed\xa0\x80",  # a surrogate
    b"\xed\xbf\xbf",
    b"\xc0\xaf",  # overlong
    b"\xe0\x9f\xbf",
    b"\xf0\x8f\xbf\xbf",
    b"\xf4\x90\x80\x80",  # above U+10FFFF
]


def assert_covers(kernel: Kernel, name: str, data: bytes) -> None:
    ends = kernel.split(name, data).tolist()
    assert all(start < end for start, end in pairwise([0, *ends]))
    assert (ends or [0])[-1] == len(data)


@pytest.mark.parametrize("name", PATTERN_NAMES)
def test_invalid_utf8_is_covered(native: Kernel, name: str) -> None:
    for noise in INVALID:
        for before, after in product([b"", b"a", b" ", b"\n", b"1", b"'"], repeat=2):
            assert_covers(native, name, before + noise + after)


@pytest.mark.parametrize("name", PATTERN_NAMES)
@given(
    data=st.binary(max_size=40)
    | st.lists(st.sampled_from([*INVALID, b"a", b"'s", b" ", b"\n"])).map(b"".join)
)
def test_any_bytes_are_covered(native: Kernel, name: str, data: bytes) -> None:
    assert_covers(native, name, data)


# Oniguruma and recorded pieces


def oniguruma_matches(pattern: str, text: str) -> list[str]:
    return [piece for piece, _ in Split(Regex(pattern), "removed", invert=True).pre_tokenize_str(text)]


@cache
def characters_of_oniguruma() -> str:
    return characters_alike(
        lambda each, among: "".join(oniguruma_matches(each, among)),
        among="".join(map(chr, [*range(0xD800), *range(0xE000, 0x20000)])),
    )


settled_texts = st.deferred(
    lambda: st.lists(
        st.sampled_from(REPRESENTATIVES) | st.sampled_from(characters_of_oniguruma()), max_size=25
    )
).map("".join)


def test_oniguruma_classifies_most_characters_as_the_regex_package() -> None:
    assert set(REPRESENTATIVES) <= set(characters_of_oniguruma())


@pytest.mark.parametrize("name", SPLITTING)
@given(text=settled_texts)
def test_oniguruma_splits_any_text_with_its_spelling_of_the_pattern(name: str, text: str) -> None:
    pattern = resolve_pattern(name)
    assert pattern.oniguruma is not None
    assert oniguruma_matches(pattern.oniguruma, text) == split(pattern, text)


@pytest.mark.parametrize("name", SPLITTING)
def test_oniguruma_splits_short_strings_with_its_spelling_of_the_pattern(name: str) -> None:
    pattern = resolve_pattern(name)
    assert pattern.oniguruma is not None
    splitter = Split(Regex(pattern.oniguruma), "removed", invert=True)
    for text in strings(REPRESENTATIVES, 2):
        for after in ["", "a", "\n", " 1"]:
            found = [piece for piece, _ in splitter.pre_tokenize_str(text + after)]
            assert found == split(pattern, text + after)


def test_oniguruma_repeats_a_possessive_interval() -> None:
    # The reason for its own spelling: only in Oniguruma "{1,3}+" repeats the interval; "++" is possessive in both.
    assert oniguruma_matches(r"\p{N}{1,3}+", "1234567") == ["1234567"]
    assert regex.findall(r"\p{N}{1,3}+", "1234567") == ["123", "456", "7"]
    assert oniguruma_matches(r"\p{N}{1,3}", "1234567") == ["123", "456", "7"]
    for possessive in ["a++a", "a*+a", "a?+a"]:
        assert oniguruma_matches(possessive, "a") == regex.findall(possessive, "a") == []


@pytest.mark.real
def test_recorded_pieces_are_reproduced(native: Kernel, shared: Path) -> None:
    by_text = {resolve_pattern(name).regex: name for name in SPLITTING}
    lines = (shared / "vectors/split_regex_oracle.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["pattern"] in by_text]
    assert {by_text[row["pattern"]] for row in rows} >= {"llama3", "qwen2", "gpt4o"}
    for row in rows:
        name = by_text[row["pattern"]]
        assert split(resolve_pattern(name), row["text"]) == row["pieces"]
        assert first_difference(native, name, [row["text"]]) is None
