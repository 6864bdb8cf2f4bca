"""The reference implementation, checked against examples worked out by hand."""

from __future__ import annotations

import pytest

from tokbench.backends.bpe.reference import (
    Merge,
    TextPart,
    count_pairs,
    cut_at_special_tokens,
    decode,
    encode,
    merge_pair,
    most_frequent_pair,
    train,
    vocabulary,
)

A, B, C, D = b"abcd"


def test_wikipedia_example_is_trained_and_encoded() -> None:
    # aaabdaaabac → ZabdZabac (Z = aa, 4 times) → ZYdZYac (Y = ab, 2 times) → XdXac (X = ZY, 2 times)
    z, y, x = 256, 257, 258
    text = b"aaabdaaabac"
    merges = train({text: 1}, num_merges=10)
    assert merges == [Merge(A, A, 4), Merge(A, B, 2), Merge(z, y, 2)]
    ids = encode(text, {(left, right): z + i for i, (left, right, _) in enumerate(merges)})
    assert ids == [x, D, x, A, C]
    assert decode(ids, vocabulary(merges)) == text


def test_overlapping_pairs_are_all_counted() -> None:
    assert count_pairs({(A, A, A, A): 5}) == {(A, A): 15}


def test_pair_is_merged_left_to_right_without_overlap() -> None:
    assert merge_pair((A, A, A, A, A), (A, A), 256) == (256, 256, A)


def test_pairs_do_not_cross_pretokens() -> None:
    assert count_pairs({(A, B): 1, (C, D): 1}) == {(A, B): 1, (C, D): 1}


@pytest.mark.parametrize(
    ("counts", "first"),
    [
        ({(A, A): 1, (D, D): 2}, (D, D)),  # the count comes first
        ({(B, A): 2, (A, D): 2}, (A, D)),  # then the left id
        ({(B, C): 2, (B, A): 2}, (B, A)),  # then the right id
        ({(256, A): 2, (D, 256): 2}, (D, 256)),  # ids are compared, not bytes
    ],
)
def test_ties_go_to_the_smallest_ids(counts: dict[tuple[int, int], int], first: tuple[int, int]) -> None:
    assert most_frequent_pair(counts) == first


def test_ties_do_not_depend_on_the_order_of_pretokens() -> None:
    words = [(b"cd", 3), (b"ab", 3), (b"ba", 3)]
    assert train(dict(words), num_merges=3) == train(dict(reversed(words)), num_merges=3)
    assert train(dict(words), num_merges=3) == [Merge(A, B, 3), Merge(B, A, 3), Merge(C, D, 3)]


def test_training_stops_below_the_minimum_frequency() -> None:
    words = {b"ab": 3, b"cd": 2, b"da": 1}
    assert train(words, num_merges=9, min_frequency=1) == [Merge(A, B, 3), Merge(C, D, 2), Merge(D, A, 1)]
    assert train(words, num_merges=9) == [Merge(A, B, 3), Merge(C, D, 2)]
    assert train(words, num_merges=9, min_frequency=3) == [Merge(A, B, 3)]
    assert train(words, num_merges=9, min_frequency=4) == []


def test_training_stops_when_everything_is_merged() -> None:
    assert train({b"ab": 7, b"c": 9}, num_merges=9) == [Merge(A, B, 7)]
    assert train({}, num_merges=9) == []


def test_pairs_beyond_the_maximum_length_are_skipped() -> None:
    words = {b"abab": 9, b"cd": 1}
    assert train(words, num_merges=9, min_frequency=1, max_token_length=2) == [
        Merge(A, B, 18),
        Merge(C, D, 1),
    ]
    assert train(words, num_merges=9, min_frequency=1, max_token_length=1) == []


def test_encoding_merges_by_rank_not_by_position() -> None:
    assert encode(b"abc", {(B, C): 256, (A, B): 257}) == [A, 256]
    assert encode(b"abc", {(A, B): 256, (B, C): 257}) == [256, C]


def test_special_token_match_is_leftmost_longest() -> None:
    assert list(cut_at_special_tokens("xaby", ["b", "ab", "by"])) == [
        TextPart("x"),
        TextPart("ab", token="ab"),
        TextPart("y"),
    ]
    assert list(cut_at_special_tokens("<e><e>!", ["<e>", "<e>!"])) == [
        TextPart("<e>", token="<e>"),
        TextPart("<e>!", token="<e>!"),
    ]


def test_text_without_special_tokens_is_one_part() -> None:
    assert list(cut_at_special_tokens("abc", [])) == [TextPart("abc")]
    assert list(cut_at_special_tokens("", ["x"])) == []
