"""Tests for the vocabulary search, with hand-written results, and for the queries it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.lint import byte_level, target_of

from tokbench.errors import ConfigError
from tokbench.inspection import search as searching
from tokbench.inspection.search import TokenQuery, longest_first, parse_ranks, search
from tokbench.inspection.vocabulary_tokens import VocabularyTokens

if TYPE_CHECKING:
    from pathlib import Path

MERGES = (("l", "o"), ("lo", "w"), (b"\xd0", b"\xb6"), (b"\xe2", b"\x82"))


@pytest.fixture
def vocabulary(tmp_path: Path) -> VocabularyTokens:
    """A vocabulary with the ids 256 lo, 257 low, 258 ж, and 259 the first two of the three bytes of €."""
    return VocabularyTokens(target_of(byte_level(*MERGES), tmp_path))


def matching_ids(vocabulary: VocabularyTokens, **asked: object) -> tuple[int, ...]:
    return search(vocabulary, TokenQuery(**asked)).ids  # type: ignore[arg-type]


def test_regular_expression_matches_the_token_text(vocabulary: VocabularyTokens) -> None:
    assert matching_ids(vocabulary, find="^lo") == (256, 257)
    assert matching_ids(vocabulary, find=r"\p{Cyrillic}") == (258,)


def test_tokens_without_a_text_are_counted(vocabulary: VocabularyTokens) -> None:
    result = search(vocabulary, TokenQuery(find="."))
    assert result.without_text == 128 + 1
    assert 259 not in result.ids
    assert search(vocabulary, TokenQuery(data=b"\x82")).without_text == 0


def test_bytes_match_inside_incomplete_characters(vocabulary: VocabularyTokens) -> None:
    assert matching_ids(vocabulary, data=b"\xe2\x82") == (259,)
    assert matching_ids(vocabulary, data=b"\x82") == (0x82, 259)


def test_ids_scripts_and_ranks_are_searched(vocabulary: VocabularyTokens) -> None:
    assert matching_ids(vocabulary, ids=frozenset([257, 3])) == (3, 257)
    assert matching_ids(vocabulary, script="cyrillic") == (258,)
    assert matching_ids(vocabulary, ranks=(1, 3)) == (257, 258)
    assert len(matching_ids(vocabulary, script="Latin")) == 2 * 26 + 2


def test_all_criteria_must_match(vocabulary: VocabularyTokens) -> None:
    assert matching_ids(vocabulary, find="o", ranks=(1, 9)) == (257,)
    assert matching_ids(vocabulary, find="o", data=b"w", script="latin") == (257,)


def test_longest_tokens_come_first(vocabulary: VocabularyTokens) -> None:
    assert longest_first(vocabulary, vocabulary.tokens)[:4] == [257, 256, 258, 259]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"find": "("}, "is not a regular expression"),
        ({"script": "Latn"}, "there is no script"),
        ({"ids": frozenset([260])}, "no token has the id 260"),
    ],
)
def test_invalid_queries_are_refused(
    vocabulary: VocabularyTokens, asked: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        matching_ids(vocabulary, **asked)


def test_slow_regular_expression_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_SECONDS_OF_ONE", 0.05)
    vocabulary = VocabularyTokens(target_of(byte_level(tokens=["a" * 60 + "!"]), tmp_path))
    with pytest.raises(ConfigError, match="took too long"):
        matching_ids(vocabulary, find=r"^(a|aa|a?a)+$")


@pytest.mark.parametrize("text", ["", ":", "3:2", "2:2", "x", "-1:4", "1:2:3"])
def test_malformed_range_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_ranks(text)


def test_open_range_has_no_end() -> None:
    assert parse_ranks("300:") == (300, float("inf"))
