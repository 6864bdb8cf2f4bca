"""Tests for choosing the tokens to remove, worked out by hand and compared with the textbook algorithm."""

from __future__ import annotations

import pytest

from tokbench.errors import ConfigError
from tokbench.surgery import reference
from tokbench.surgery.leaves import choose_leaves
from tokbench.surgery.merge_parts import MergeParts, merge_parts

VOCAB = {piece: id for id, piece in enumerate(["a", "b", "c", "ab", "abc", "bc", "abab"])}
MERGES = [("a", "b"), ("ab", "c"), ("b", "c"), ("ab", "ab")]
TOKENS = merge_parts(VOCAB, MERGES)


def test_the_rarest_leaf_goes_first_and_its_parts_inherit() -> None:
    """abab (1) goes first and adds 2 to ab (1); then bc (2) and abc (3) are the rarest; abc adds 3 to ab: 6."""
    removal = choose_leaves(TOKENS, frequencies={0: 5, 3: 1, 4: 3, 5: 2, 6: 1}, size=4)
    assert removal.ids == (6, 5, 4)
    assert removal.frequencies == {0: 5, 1: 2, 2: 5, 3: 6}


def test_of_equally_frequent_leaves_the_one_with_the_greatest_id_goes() -> None:
    assert choose_leaves(TOKENS, size=3).ids == (6, 5, 4, 3)


def test_a_token_that_a_merge_needs_stays_however_rare() -> None:
    removal = choose_leaves(TOKENS, frequencies={4: 9, 5: 9, 6: 9}, min_count=9)
    assert removal.ids == ()
    assert removal.frequencies[3] == 0


def test_what_inherits_may_be_frequent_enough() -> None:
    assert choose_leaves(TOKENS, frequencies={4: 3, 5: 9, 6: 1}, min_count=4).ids == (6, 4)
    assert choose_leaves(TOKENS, frequencies={4: 2, 5: 9, 6: 0}, min_count=4).ids == (6, 4, 3)


def test_both_limits_must_hold() -> None:
    frequencies = {3: 1, 4: 3, 5: 5, 6: 7}
    assert choose_leaves(TOKENS, frequencies=frequencies, size=6, min_count=5).ids == (4,)
    assert choose_leaves(TOKENS, frequencies=frequencies, size=5, min_count=2).ids == (4, 5)


def test_selected_tokens_go_where_nothing_needs_them() -> None:
    removal = choose_leaves(TOKENS, selected={0, 3, 4})
    assert (removal.ids, removal.needed, removal.fixed) == ((4,), (3,), (0,))
    assert choose_leaves(TOKENS, selected={3, 4, 6}).ids == (6, 4, 3)


def test_kept_tokens_never_go() -> None:
    kept = MergeParts(TOKENS.ids, TOKENS.parts, kept=TOKENS.kept | {6})
    removal = choose_leaves(kept, selected={6}, size=5)
    assert removal.fixed == (6,)
    assert removal.ids == (5, 4)


def test_fewer_tokens_than_must_stay_are_refused() -> None:
    with pytest.raises(ConfigError, match="alone are 3 tokens, more than 2"):
        choose_leaves(TOKENS, size=2)


def test_a_whole_pretoken_falls_apart_into_what_merging_makes_of_it() -> None:
    """No merge makes "cab", so it becomes c and ab; ab has been removed by then, so that a and b remain."""
    tokens = merge_parts({**VOCAB, "cab": 7}, MERGES, whole_tokens_first=True)
    assert tokens.spelled == {7: (2, 3)}
    removal = choose_leaves(tokens, frequencies={7: 4, 3: 1}, size=3)
    assert removal.ids == (6, 5, 4, 3, 7)
    assert removal.frequencies == {0: 5, 1: 5, 2: 4}


def test_a_leaf_that_grows_while_it_waits_is_not_taken_for_rare() -> None:
    """cab (1) goes first, so that the leaf ab has 2 + 1 and is no longer as rare as bc (2)."""
    vocab = {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "cab": 5}
    tokens = merge_parts(vocab, [("a", "b"), ("b", "c")], whole_tokens_first=True)
    assert choose_leaves(tokens, frequencies={3: 2, 4: 2, 5: 1}, size=4).ids == (5, 4)


def test_of_several_merges_of_a_token_the_one_that_is_made_counts() -> None:
    """The list has a + bc for "abc" first, but a + b always merges before it, so the parts are ab and c."""
    merges = [("a", "b"), ("a", "bc"), ("ab", "c"), ("b", "c")]
    assert merge_parts(VOCAB, merges).parts[4] == (3, 2)


def test_the_textbook_segments_by_rank() -> None:
    merges = [(0, 1, 3), (1, 2, 5), (3, 2, 4)]
    assert reference.segment([0, 1, 2, 1, 2], merges) == [4, 5]
    assert reference.segment([0, 0, 0], [(0, 0, 3)]) == [3, 0]
