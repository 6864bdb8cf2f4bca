"""Tests for regular expressions of sets of texts, against trying each text at each position."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench.core.alternatives import longest_first

TEXTS = st.lists(st.text("ab<|.\n", min_size=1, max_size=6), max_size=60)


def found_one_by_one(texts: list[str], text: str) -> list[str]:
    """Return the leftmost texts found, of those that begin together the longest."""
    found, start = [], 0
    while start < len(text):
        here = [one for one in texts if text.startswith(one, start)]
        if here:
            found.append(max(here, key=len))
        start += len(found[-1]) if here else 1
    return found


@given(texts=TEXTS, text=st.text("ab<|.\n", max_size=60))
def test_longest_text_is_found(texts: list[str], text: str) -> None:
    assert re.findall(longest_first(texts), text) == found_one_by_one(texts, text)


def test_nothing_and_the_empty_text() -> None:
    assert re.search(longest_first([]), "a") is None
    assert re.findall(longest_first(["", *"abcdefghij"]), "ax") == ["a", "", ""]


def test_texts_that_continue_each_other_have_bounded_groups() -> None:
    pattern = re.compile(longest_first("a" * size for size in range(1, 500)))
    assert [found.end() for found in pattern.finditer("a" * 700)] == [499, 700]
    texts = ["ab" * size + end for size in range(60) for end in ("c", "d", "e")]
    assert re.findall(longest_first(texts), "".join(texts)) == found_one_by_one(texts, "".join(texts))


@pytest.mark.timed
def test_thousands_of_reserved_tokens_are_searched_at_once() -> None:
    """Tried one by one, they take ten seconds."""
    pattern = re.compile(longest_first(f"<|reserved_{number}|>" for number in range(30_000)))
    text = "<|reserved_29999|> <|reserved_ 1 < | " * 80_000
    started = time.process_time()
    assert len(pattern.findall(text)) == 80_000
    assert time.process_time() - started < 2
