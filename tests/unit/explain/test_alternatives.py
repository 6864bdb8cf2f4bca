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
def test_pattern_is_split_at_its_top_level_alternatives(pattern: str, parts: list[str]) -> None:
    assert split_alternatives(pattern) == parts


@pytest.mark.parametrize("name", [name for name in PATTERN_NAMES if name != "none"])
@given(text=texts)
def test_every_pretoken_has_its_alternative(name: str, text: str) -> None:
    pattern = resolve_pattern(name)
    assert pattern.regex is not None
    matched = alternatives_of(pattern.regex).matching(text, split(pattern, text))
    assert all(alternative is not None and alternative.meaning for alternative in matched)


def test_pattern_with_backreferences_is_not_split() -> None:
    assert alternatives_of(r"(a)x|\1b|.").alternatives == ()
