"""Tests for intermediate tokens, which only occur inside other merges, on known counts."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tokbench.backends.bpe import reference
from tokbench.metrics.vocabulary import intermediate_tokens


def ids_under(pretokens: Counter[bytes], merges: list[reference.Merge]) -> Counter[int]:
    ranks = {(merge.left, merge.right): reference.NUM_BYTES + rank for rank, merge in enumerate(merges)}
    counts: Counter[int] = Counter()
    for pretoken, count in pretokens.items():
        for id in reference.encode(pretoken, ranks):
            counts[id] += count
    return counts


def test_intermediate_tokens_of_an_example_worked_by_hand() -> None:
    """The base tokens are 0 and 1, the merges make 2 = 0 1 and 3 = 2 0, and the text is 0 3 3."""
    frequencies, merges = np.array([1, 0, 0, 2]), [(0, 1), (2, 0)]
    assert intermediate_tokens(frequencies, merges).tolist() == [False, False, True, False]


def test_without_merges_there_are_no_intermediate_tokens() -> None:
    assert intermediate_tokens(np.array([4, 0]), []).tolist() == [False, False]


def test_intermediate_tokens_occur_only_inside_other_merges() -> None:
    merges = reference.train(Counter({b"abcd": 9, b"xy": 2}), num_merges=4)
    pairs = [(merge.left, merge.right) for merge in merges]
    counts = ids_under(Counter({b"abcd": 1}), merges)
    frequencies = np.array([counts[id] for id in range(reference.NUM_BYTES + len(merges))])
    entries = reference.vocabulary(merges)
    intermediate = {entries[id] for id in np.flatnonzero(intermediate_tokens(frequencies, pairs))}
    assert intermediate == {b"ab", b"cd"}
