"""Merging by ranks equals the textbook; merges that are dropped come back later, or do not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tokbench.backends.bpe import reference
from tokbench.core.merging import merge_symbols

MERGES = {("a", "b"): (0, "ab"), ("b", "c"): (1, "bc"), ("ab", "c"): (2, "abc")}


@given(
    word=st.lists(st.sampled_from([97, 98]), max_size=30).map(bytes),
    pairs=st.lists(st.tuples(*[st.sampled_from([97, 98, 256, 257, 258])] * 2), max_size=6, unique=True),
)
def test_merging_equals_the_reference(word: bytes, pairs: list[tuple[int, int]]) -> None:
    ids = {pair: 256 + rank for rank, pair in enumerate(pairs) if max(pair) < 256 + rank}
    merges = {pair: (id, id) for pair, id in ids.items()}
    assert merge_symbols(word, merges.get) == reference.encode(word, ids)


def test_empty_word_merges_to_nothing() -> None:
    assert merge_symbols("", MERGES.get) == []


def test_dropped_merge_may_be_retried_after_another_merge() -> None:
    def merged(answers: str, *, retries: bool) -> list[str]:
        drawn = iter(answers)
        return merge_symbols("abab", MERGES.get, is_dropped=lambda: next(drawn) == "n", retries=retries)

    assert merged("nyy", retries=True) == ["ab", "ab"]
    assert merged("ny", retries=False) == ["a", "b", "ab"]
    assert merged("nn", retries=True) == ["a", "b", "a", "b"]


def test_dropped_merge_with_a_new_neighbour_is_drawn_again() -> None:
    drawn = iter("nyy")  # "ab" is dropped, then "bc" merged; "a" with "bc" is not a merge
    assert merge_symbols("abc", MERGES.get, is_dropped=lambda: next(drawn) == "n") == ["a", "bc"]
