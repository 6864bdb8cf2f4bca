"""Pairs that merges displace: the difference between the reference's counts before and after each merge."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts import words

import tokbench
from tokbench.backends.bpe import derivation, reference
from tokbench.backends.bpe.derivation import displaced_pairs, dump_trace, parse_trace
from tokbench.errors import ModelFormatError

pretokens = st.dictionaries(words.map(str.encode), st.integers(1, 9), min_size=1, max_size=6)


def by_definition(counts, merges):
    """Yield, for each merge, the pairs of old tokens that become less frequent by it, except its own pair."""
    state = Counter({tuple(word): count for word, count in counts.items()})
    for rank, each in enumerate(merges):
        before = reference.count_pairs(state)
        merged = Counter()
        for word, count in state.items():
            merged[reference.merge_pair(word, (each.left, each.right), 256 + rank)] += count
        lost = before - reference.count_pairs(merged)
        del lost[each.left, each.right]
        state = merged
        yield sorted((-count, pair) for pair, count in lost.items())


@pytest.mark.parametrize("times", [1, 40])  # over 64 bytes, another code path replays words
@given(counts=pretokens)
def test_displaced_pairs_are_the_differences_of_the_counts(times, counts) -> None:
    counts = {word * times: count for word, count in counts.items()}
    merges = reference.train(counts, num_merges=20)
    displaced = displaced_pairs(counts.items(), merges)
    for pairs, expected in zip(displaced, by_definition(counts, merges), strict=True):
        assert [(-count, (left, right)) for left, right, count in pairs] == expected[: derivation.MOST_KEPT]


def test_trace_is_saved_and_opened(tmp_path) -> None:
    trained = tokbench.train(["the cat sat on the mat, the cat"], backend="bpe", vocab_size=262, trace=True)
    trained.save(tmp_path / "traced")
    opened = tokbench.load(tmp_path / "traced")
    assert opened.displaced == trained.displaced
    assert any(opened.displaced)
    assert opened.merge_record(0).displaced is not None
    plain = tokbench.train(["the cat sat on the mat, the cat"], backend="bpe", vocab_size=262)
    assert plain.merges == trained.merges
    assert plain.merge_record(0).displaced is None
    assert plain.merge_record(0).count == trained.merges[0].count


def test_trace_of_other_merges_is_refused(tmp_path) -> None:
    merges = reference.train({b"abab": 2}, num_merges=2)
    data = dump_trace(merges, [(), ()])
    assert parse_trace(data, merges, path=tmp_path) == [(), ()]
    with pytest.raises(ModelFormatError, match="a trace of the 1 merges"):
        parse_trace(data, merges[:1], path=tmp_path)
