"""Splitting a pattern at its top level, and finding the alternative that matched."""

from __future__ import annotations

import pytest
from hypothesis import given
from support.texts import texts

from tokbench.backends.bpe.split_patterns import PATTERN_NAMES, resolve_pattern, split
from tokbench.explain.alternatives import alternatives_of, split_alternatives


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        (r"a|b", ["a", "b"]),
        (r"(?:a|b)|[|]|\|", ["(?:a|b)", "[|]", r"\|"]),
        (r"[^]|]+|x", ["[^]|]+", "x"]),
        (r"(?i)a|b", ["(?i)a", "(?i)b"]),
        (r"(?:a|(?:b|c))", ["a", "(?:b|c)"]),
        (r"(a|b)+", ["(a|b)+"]),
    ],
)
def test_the_alternatives_on_the_top_level(pattern: str, parts: list[str]) -> None:
    assert split_alternatives(pattern) == parts


@pytest.mark.parametrize("name", [name for name in PATTERN_NAMES if name != "none"])
@given(text=texts)
def test_every_pre_token_has_its_alternative(name: str, text: str) -> None:
    pattern = resolve_pattern(name)
    assert pattern.regex is not None
    found = alternatives_of(pattern.regex).matching(text, split(pattern, text))
    assert all(alternative is not None and alternative.meaning for alternative in found)


def test_a_pattern_that_refers_to_its_groups_is_not_taken_apart() -> None:
    assert alternatives_of(r"(a)x|\1b|.").alternatives == ()
