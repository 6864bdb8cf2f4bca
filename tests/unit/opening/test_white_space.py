"""Which replacements of white space are left out before the kernel splits a text."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from support.texts import texts

from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.opening.white_space import needed_normalizers

RUNS = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
LOWERCASE = {"type": "Lowercase"}
PATTERN = r"'s|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def kept_matches(pattern: str = PATTERN, **changes: Any) -> dict[str, Any]:
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Removed", "invert": True}
    return split | changes


@pytest.mark.parametrize("spelling", [r"\s+", "[[:space:]]+"])
def test_replaced_runs_are_left_out_where_no_match_holds_white_space(spelling: str) -> None:
    nfc = {"type": "NFC"}
    runs = RUNS | {"pattern": {"Regex": spelling}}
    added = [{"content": "<|end|>"}]
    assert needed_normalizers([nfc, runs, LOWERCASE], [kept_matches()], added=added) == [nfc, LOWERCASE]


@pytest.mark.parametrize(
    "split",
    [
        kept_matches(r"\p{L}+|\s+"),
        kept_matches(r"\p{L}+|[^\p{L}]"),
        kept_matches(r" ?\p{L}+"),
        kept_matches(r"\p{L}+(?!\s)"),
        kept_matches(r"(?:a|\u3000)b"),
        kept_matches(r"\p{L}+$"),
        kept_matches(r"(?<!a)b"),
        kept_matches(invert=False),
        kept_matches(behavior="Isolated"),
        kept_matches(pattern={"String": "a"}),
        {"type": "WhitespaceSplit"},
    ],
)
def test_replaced_runs_stay_where_splitting_may_notice_them(split: dict[str, Any]) -> None:
    assert needed_normalizers([RUNS, LOWERCASE], [split], added=[]) == [RUNS, LOWERCASE]


@pytest.mark.parametrize(
    "others",
    [
        [{"type": "Prepend", "prepend": "▁"}],
        [{"type": "Replace", "pattern": {"String": "a"}, "content": " "}],
        [RUNS | {"content": "_"}],
        [RUNS | {"content": ""}],
        [RUNS | {"pattern": {"Regex": r"\s+x"}}],
    ],
)
def test_replaced_runs_stay_beside_steps_that_may_notice_them(others: list[dict[str, Any]]) -> None:
    assert needed_normalizers([RUNS, *others], [kept_matches()], added=[]) == [RUNS, *others]


def test_replaced_runs_stay_where_an_added_token_holds_white_space() -> None:
    assert needed_normalizers([RUNS], [kept_matches()], added=[{"content": "a b"}]) == [RUNS]


def test_replaced_runs_stay_without_pre_tokenizers() -> None:
    assert needed_normalizers([RUNS], [], added=[]) == [RUNS]


@pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")
@given(texts)
@example(" a  b\n\r\tc \x0b\xa0")
@example("a\n")
def test_runs_of_spaces_and_line_ends_become_one_space(text: str) -> None:
    from tokbench.native import _bpe

    for runs, replaced in ((r"[ \n\r\t]+", _bpe.with_single_spaces), (" +", _bpe.without_runs_of_spaces)):
        expected = re.sub(runs, " ", text)
        made = replaced(text)
        assert made == expected
        assert (made is text) == (expected == text)
