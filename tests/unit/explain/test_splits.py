"""Words that are split at a place or for a cause, on a text small enough to count by hand."""

from __future__ import annotations

import pytest

import tokbench
from tokbench.errors import ConfigError
from tokbench.explain.splits import SplitQuery, find_splits


@pytest.fixture(scope="module")
def tokenizer():
    # "ab" is merged first, then " " + "ab": "bc" is never whole.
    return tokbench.train([" ab" * 9 + " bc" * 2 + " abc"], backend="bpe", vocab_size=258)


TEXT = " abc abc bc é xy" * 2 + " abc"


def words(tokenizer, asked, top=10):
    splits = find_splits(tokenizer, [TEXT], SplitQuery.parsed(asked), top=top)
    return {word.word: word.count for word in splits.words}, splits


def test_splits_are_found_by_place(tokenizer) -> None:
    assert words(tokenizer, "ab|c")[0] == {" abc": 5}
    assert words(tokenizer, "|y")[0] == {" xy": 2}
    assert words(tokenizer, "|")[0].keys() == {" abc", " bc", " é", " xy"}


def test_splits_are_found_by_cause(tokenizer) -> None:
    assert words(tokenizer, "inside-character")[0] == {" é": 2}
    assert words(tokenizer, "earlier-merge")[0] == {}
    assert words(tokenizer, "no-merge")[0].keys() == {" abc", " bc", " é", " xy"}


def test_occurrences_and_distinct_words_are_counted(tokenizer) -> None:
    _, splits = words(tokenizer, "|")
    assert (splits.occurrences, splits.distinct, splits.cut, splits.is_complete) == (11, 4, 11, True)
    assert not words(tokenizer, "|", top=1)[1].is_complete


@pytest.mark.parametrize("asked", ["", "foo", "a|b|c", "earlier-merge:x"])
def test_query_that_is_neither_place_nor_cause_is_refused(asked: str) -> None:
    with pytest.raises(ConfigError, match="neither a place nor a cause"):
        SplitQuery.parsed(asked)
