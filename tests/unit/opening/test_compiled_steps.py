"""Tests of splitting steps that become one pattern of the kernel, with pre-tokens computed by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from support.byte_level_documents import (
    BYTE_LEVEL,
    DIGITS,
    LLAMA3,
    ONLY_BYTES,
    RUNS_OF_DIGITS,
    SPLITTING,
    split,
)

from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.opening.compiled_steps import compiled_steps
from tokbench.opening.split_steps import split_steps

if TYPE_CHECKING:
    from tokbench.native._bpe import CompiledPattern

pytestmark = pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")

PUNCTUATION = {"type": "Punctuation", "behavior": "Isolated"}
DEEPSEEK = SPLITTING["deepseek-v3"]["pretokenizers"]


def as_one(*pre_tokenizers: dict[str, Any]) -> CompiledPattern | None:
    splitting = split_steps(pre_tokenizers, maps_to_bytes=True)
    return compiled_steps(splitting, splitting.sets.masks())


def pieces(pattern: CompiledPattern | None, text: str) -> list[str]:
    from tokbench.native import _bpe

    assert pattern is not None
    data = text.encode()
    return [data[start:stop].decode() for start, stop in pairwise([0, *_bpe.split(pattern, data).tolist()])]


@pytest.mark.parametrize(
    ("pre_tokenizers", "text", "expected"),
    [
        ([DIGITS, BYTE_LEVEL], "a 12  3b", ["a", " ", "1", "2", "  ", "3", "b"]),
        ([DIGITS, BYTE_LEVEL], "it's  x \n", ["it", "'s", " ", " x", " \n"]),
        ([RUNS_OF_DIGITS, BYTE_LEVEL], " 12²a", [" ", "12²", "a"]),
        ([split(r"\p{N}{1,2}"), split(LLAMA3), ONLY_BYTES], "1234567 a", ["12", "34", "56", "7", " a"]),
        ([RUNS_OF_DIGITS, split(LLAMA3), ONLY_BYTES], "1234567 a", ["123", "456", "7", " a"]),
        ([split(r"[\d.]+"), split(r"\.\d+|\d+"), ONLY_BYTES], "a.1.2.b", ["a", ".1", ".2", ".", "b"]),
        ([split("a"), split(r"b+(?!a)|[\s\S]"), ONLY_BYTES], "bbabbc", ["bb", "a", "bb", "c"]),
        ([split("[ab]+"), split("b+"), split(r"\w+"), ONLY_BYTES], "abbacc", ["a", "bb", "a", "cc"]),
        ([split("[ab]"), split("a+"), BYTE_LEVEL], "aab cc", ["a", "a", "b", " cc"]),
        ([split("a|[bc]+"), split("c"), ONLY_BYTES], "aabccd", ["a", "a", "b", "c", "c", "d"]),
        ([split(r"\d"), split(r"\d?a|b"), ONLY_BYTES], "a1aab", ["a", "1", "a", "a", "b"]),
        ([split("a", "Contiguous"), ONLY_BYTES], "aab ba", ["aa", "b b", "a"]),
        ([split(r"\s"), split(r"a$|\S"), ONLY_BYTES], "aa a\nab", ["a", "a", " ", "a", "\n", "a", "b"]),
        (
            [split("b"), split("a+$|a|[^a]+"), ONLY_BYTES],
            "aa\naabaac",
            ["aa", "\n", "aa", "b", "a", "a", "c"],
        ),
        ([DIGITS, PUNCTUATION, ONLY_BYTES], "a b,.12", ["a b", ",", ".", "1", "2"]),
    ],
)
def test_steps_as_one_pattern(pre_tokenizers: list[dict[str, Any]], text: str, expected: list[str]) -> None:
    assert pieces(as_one(*pre_tokenizers), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x.y 12345\n東京a", ["x", ".y", " ", "123", "45", "\n", "東京", "a"]),
        ("カ・ターx", ["カ", "・", "ター", "x"]),  # the last step splits runs of kana, too
        ("\x00\x01a", ["\x00", "\x01a"]),  # a control character may begin a word
        ("\x00\x01!", ["\x00\x01", "!"]),
        ("\x00\x01カ1\x002", ["\x00\x01", "カ", "1", "\x00", "2"]),  # but not one in another step's part
        ("a  \n 1", ["a", "  \n", " ", "1"]),
        (" é\u0301 \u0301", [" é\u0301", " \u0301"]),
    ],
)
def test_steps_of_deepseek_as_one_pattern(text: str, expected: list[str]) -> None:
    pattern = as_one(*DEEPSEEK)
    assert pieces(pattern, text) == expected
    assert pattern is not None
    assert pattern.cuts_at_spaces  # so that threads divide a text


def test_text_between_matches_of_an_only_step_is_one_pre_token() -> None:
    pattern = as_one(split(r"[ \x00]?\p{L}+"), ONLY_BYTES)
    assert pieces(pattern, "ab, c") == ["ab", ",", " c"]
    assert pieces(pattern, " \x00 \x00a 1 \x00") == [" \x00 ", "\x00a", " 1 \x00"]
    assert pieces(as_one(split(r"b?(?:\x00a)|[ab]"), ONLY_BYTES), "\x00\x00ab\x00a") == [
        "\x00",
        "\x00a",
        "b\x00a",
    ]


@pytest.mark.parametrize(
    "pre_tokenizers",
    [
        [DIGITS, BYTE_LEVEL | {"add_prefix_space": True}],
        [BYTE_LEVEL, DIGITS],  # which sees characters that stand for bytes
        [split("a", "MergedWithPrevious"), BYTE_LEVEL],
        [split(r"\s", "Removed"), BYTE_LEVEL],
        [split("a{2,}"), BYTE_LEVEL],
        [split("ab"), BYTE_LEVEL],
        [split(r"\d+?"), BYTE_LEVEL],
        [split(r"a|\w+"), BYTE_LEVEL],  # one place may begin both
        [split(r"\d{1,3}"), split(r"\d|\D"), ONLY_BYTES],  # splits what is cut after some characters
        [split(r"\d{1,3}"), split(r"[1a]+"), BYTE_LEVEL],
        [split("a{1,3}"), split("a{1,2}"), BYTE_LEVEL],
        [DIGITS, split(r"\p{L}+", "Removed", invert=True), ONLY_BYTES],  # leaves out text
        [split(r"\p{L}+", "Removed"), ONLY_BYTES],
        [split("abc|[bc]"), ONLY_BYTES],  # whether a match begins depends on two more characters
        [split("aa|c"), ONLY_BYTES],
        [split("a+c|c"), ONLY_BYTES],
        [split("ac|a(?=b)|c"), ONLY_BYTES],
        [split(r"[ \x00]b|\x00c|[bc]"), ONLY_BYTES],  # and on which one it would begin with
        [DIGITS, split(r"\p{L}+(?=\s\p{Lu})|[\s\S]"), ONLY_BYTES],  # looks ahead over two characters
    ],
)
def test_other_steps_are_not_one_pattern(pre_tokenizers: list[dict[str, Any]]) -> None:
    assert as_one(*pre_tokenizers) is None


def test_sets_of_a_named_pattern_after_other_steps_are_compared_with_the_librarys() -> None:
    named = split_steps([DIGITS, BYTE_LEVEL])
    assert {r"\p{N}", r"\p{L}", r"[^\s\p{L}\p{N}]"} <= set(named.sets.spellings)
    assert split_steps([BYTE_LEVEL]).sets.spellings == []
    assert split_steps([DIGITS, BYTE_LEVEL | {"add_prefix_space": True}]).sets.spellings == [r"\p{N}"]
