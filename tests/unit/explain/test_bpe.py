"""Merging by hand, and the causes of boundaries, shown by merging again without them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench.backends.bpe import reference
from tokbench.explain.bpe import ListedMerges, RankedTokens, merge, trace_merges, why_kept
from tokbench.explain.causes import EarlierMerge, NoMerge, Symbol

# The merges a b, b c, ab c: "abc" is a token, and "bc" never wins over "ab".
MERGES = {(97, 98): (0, 256), (98, 99): (1, 257), (256, 99): (2, 258)}


def shown(id: int) -> Symbol:
    return Symbol(id, {256: b"ab", 257: b"bc", 258: b"abc"}.get(id, bytes([id % 256])))


def test_merges_are_traced_in_order() -> None:
    trace = trace_merges(list(b"abcd"), ListedMerges(MERGES), show=shown)
    assert [(step.rule.rank, step.start, step.middle, step.stop) for step in trace.steps] == [
        (0, 0, 1, 2),
        (2, 0, 2, 3),
    ]
    assert [[symbol.data for symbol in state] for _, state in trace.states()] == [
        [b"ab", b"c", b"d"],
        [b"abc", b"d"],
    ]
    assert trace.causes == (NoMerge(shown(258), Symbol(100, b"d")),)


def test_boundary_names_the_earlier_merge() -> None:
    merges = ListedMerges({(97, 98): (0, 256), (98, 99): (1, 257)})
    [cause] = trace_merges(list(b"abc"), merges, show=shown).causes
    assert isinstance(cause, EarlierMerge)
    assert (cause.lost.left.data, cause.lost.right.data, cause.lost.rank) == (b"b", b"c", 1)
    assert [(rule.left.data, rule.right.data) for rule in cause.by] == [(b"a", b"b")]


def test_boundary_names_both_merges_if_either_suffices() -> None:
    # The merges x a and b y both come before a b: if only one of them is removed, the other still takes a part.
    merges = ListedMerges({(120, 97): (0, 256), (98, 121): (1, 257), (97, 98): (2, 258)})
    reason = why_kept(list(b"xaby"), merges, 2)
    assert reason is not None
    assert {(step.left, step.right) for step in reason[1]} == {(120, 97), (98, 121)}


def test_ranks_merge_whatever_is_a_token() -> None:
    ranks = RankedTokens({b"ab": 256, b"bc": 257, b"abc": 258}.get)
    assert merge([b"a", b"b", b"c"], ranks).tokens == [b"abc"]
    assert merge([b"a", b"b", b"c"], ranks.without(b"a", b"b")).tokens == [b"abc"]
    assert merge([b"a", b"b", b"c"], ranks.without(b"ab", b"c")).tokens == [b"ab", b"c"]


words = st.text("abc", min_size=1, max_size=12).map(str.encode)
vocabularies = st.lists(words, min_size=1, max_size=6).map(
    lambda texts: reference.train(dict.fromkeys(texts, 2), num_merges=12)
)


def listed(merges: list[reference.Merge]) -> ListedMerges:
    return ListedMerges({(m.left, m.right): (rank, 256 + rank) for rank, m in enumerate(merges)})


@given(merges=vocabularies, word=words)
def test_tokens_equal_the_reference(merges: list[reference.Merge], word: bytes) -> None:
    pairs = {(m.left, m.right): 256 + rank for rank, m in enumerate(merges)}
    assert merge(list(word), listed(merges)).tokens == reference.encode(word, pairs)


@given(merges=vocabularies, word=words)
def test_boundary_disappears_without_the_named_merges(merges: list[reference.Merge], word: bytes) -> None:
    rules = listed(merges)
    merging = merge(list(word), rules)
    for edge in merging.edges[1:-1]:
        reason = why_kept(list(word), rules, edge, merging=merging)
        if reason is None:
            continue
        reduced = rules
        for step in reason[1]:
            reduced = reduced.without(step.left, step.right)
        assert edge not in merge(list(word), reduced).edges


@given(merges=vocabularies, word=words)
def test_split_changes_with_the_missing_merge(merges: list[reference.Merge], word: bytes) -> None:
    rules = listed(merges)
    merging = merge(list(word), rules)
    for left, right in pairwise(merging.tokens):
        added = {**rules.merges, (left, right): (len(rules.merges), -1)}
        assert merge(list(word), ListedMerges(added)).tokens != merging.tokens


def test_time_is_linear_in_the_text() -> None:
    ranks = RankedTokens({b"a" * size: size for size in range(2, 9)}.get)
    assert len(merge([b"a"] * 20_000, ranks).tokens) < 10_000


@pytest.mark.parametrize("frozen", [0, 1])
def test_frozen_symbols_are_not_merged(frozen: int) -> None:
    assert len(merge(list(b"ab"), ListedMerges(MERGES), frozen=frozenset([frozen])).tokens) == 2
