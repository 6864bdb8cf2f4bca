"""Tests for choosing the tokens to remove, worked out by hand and compared with the textbook algorithm."""

from __future__ import annotations

import pytest

from tokbench.errors import ConfigError
from tokbench.surgery import reference
from tokbench.surgery.leaves import Leaves, MergeParts, merge_parts

VOCAB = {piece: id for id, piece in enumerate(["a", "b", "c", "ab", "abc", "bc", "abab"])}
MERGES = [("a", "b"), ("ab", "c"), ("b", "c"), ("ab", "ab")]
TOKENS = merge_parts(VOCAB, MERGES)


def test_rarest_leaf_is_removed_first_and_its_parts_inherit_its_count() -> None:
    """abab (1) goes first and adds 2 to ab (1); then bc (2) and abc (3) are the rarest; abc adds 3 to ab: 6."""
    removal = Leaves(TOKENS, {0: 5, 3: 1, 4: 3, 5: 2, 6: 1}).choose(size=4)
    assert removal.ids == (6, 5, 4)
    assert removal.frequencies == {0: 5, 1: 2, 2: 5, 3: 6}


def test_ties_remove_the_greatest_id() -> None:
    assert Leaves(TOKENS).choose(size=3).ids == (6, 5, 4, 3)


def test_token_that_a_merge_needs_is_kept() -> None:
    removal = Leaves(TOKENS, {4: 9, 5: 9, 6: 9}).choose(min_count=9)
    assert removal.ids == ()
    assert removal.frequencies[3] == 0


def test_token_with_an_inherited_count_may_be_kept() -> None:
    assert Leaves(TOKENS, {4: 3, 5: 9, 6: 1}).choose(min_count=4).ids == (6, 4)
    assert Leaves(TOKENS, {4: 2, 5: 9, 6: 0}).choose(min_count=4).ids == (6, 4, 3)


def test_both_limits_must_hold() -> None:
    frequencies = {3: 1, 4: 3, 5: 5, 6: 7}
    assert Leaves(TOKENS, frequencies).choose(size=6, min_count=5).ids == (4,)
    assert Leaves(TOKENS, frequencies).choose(size=5, min_count=2).ids == (4, 5)


def test_selected_tokens_are_removed_unless_needed() -> None:
    removal = Leaves(TOKENS).choose(selected={0, 3, 4})
    assert (removal.ids, removal.needed, removal.fixed) == ((4,), (3,), (0,))
    assert Leaves(TOKENS).choose(selected={3, 4, 6}).ids == (6, 4, 3)


def test_kept_tokens_are_never_removed() -> None:
    kept = MergeParts(TOKENS.ids, TOKENS.parts, kept=TOKENS.kept | {6})
    removal = Leaves(kept).choose(selected={6}, size=5)
    assert removal.fixed == (6,)
    assert removal.ids == (5, 4)


def test_size_below_the_kept_tokens_is_refused() -> None:
    with pytest.raises(ConfigError, match="alone are 3 tokens, more than 2"):
        Leaves(TOKENS).choose(size=2)


def test_whole_pretoken_splits_into_its_merged_parts() -> None:
    """No merge makes "cab", so it becomes c and ab; ab has been removed by then, so that a and b remain."""
    tokens = merge_parts({**VOCAB, "cab": 7}, MERGES, whole_tokens_first=True)
    assert tokens.spelled == {7: (2, 3)}
    removal = Leaves(tokens, {7: 4, 3: 1}).choose(size=3)
    assert removal.ids == (6, 5, 4, 3, 7)
    assert removal.frequencies == {0: 5, 1: 5, 2: 4}


def test_leaf_with_a_grown_count_is_not_removed() -> None:
    """cab (1) goes first, so that the leaf ab has 2 + 1 and is no longer as rare as bc (2)."""
    vocab = {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "cab": 5}
    tokens = merge_parts(vocab, [("a", "b"), ("b", "c")], whole_tokens_first=True)
    assert Leaves(tokens, {3: 2, 4: 2, 5: 1}).choose(size=4).ids == (5, 4)


def test_token_with_several_merges_has_the_parts_that_are_merged() -> None:
    """The list has a + bc for "abc" first, but a + b always merges before it, so the parts are ab and c."""
    merges = [("a", "b"), ("a", "bc"), ("ab", "c"), ("b", "c")]
    assert merge_parts(VOCAB, merges).parts[4] == (3, 2)


def test_reference_segments_by_rank() -> None:
    merges = [(0, 1, 3), (1, 2, 5), (3, 2, 4)]
    assert reference.segment([0, 1, 2, 1, 2], merges) == [4, 5]
    assert reference.segment([0, 0, 0], [(0, 0, 3)]) == [3, 0]
