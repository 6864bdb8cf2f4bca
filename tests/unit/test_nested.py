"""One segmentation answers for every smaller vocabulary: against a segmentation for each."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from support.texts import bundled_texts

from tokbench.backends.bpe import reference
from tokbench.backends.bpe.split import resolve_pattern, split
from tokbench.metrics.nested import scaffold_entries, tokens_by_merges


def pretokens_of(text: str) -> Counter[bytes]:
    return Counter(pretoken.encode() for pretoken in split(resolve_pattern("gpt4"), text))


def ids_under(pretokens: Counter[bytes], merges: list[reference.Merge]) -> Counter[int]:
    ranks = {(merge.left, merge.right): reference.NUM_BYTES + rank for rank, merge in enumerate(merges)}
    found: Counter[int] = Counter()
    for pretoken, count in pretokens.items():
        for id in reference.encode(pretoken, ranks):
            found[id] += count
    return found


def test_by_hand() -> None:
    """Base entries 0 and 1; the merges make 2 = 0 1 and 3 = 2 0; the text is 0, 3, 3."""
    frequencies, merges = np.array([1, 0, 0, 2]), [(0, 1), (2, 0)]
    assert tokens_by_merges(frequencies, merges).tolist() == [1 + 2 * 3, 1 + 2 * 2, 1 + 2]
    assert scaffold_entries(frequencies, merges).tolist() == [False, False, True, False]


def test_an_entry_of_twice_the_same_counts_twice() -> None:
    assert tokens_by_merges(np.array([0, 3]), [(0, 0)]).tolist() == [6, 3]


def test_without_merges_there_is_one_answer() -> None:
    assert tokens_by_merges(np.array([4, 5]), []).tolist() == [9]
    assert scaffold_entries(np.array([4, 0]), []).tolist() == [False, False]


def test_the_argument_is_left_as_it_is() -> None:
    frequencies = np.array([1, 0, 0, 2])
    tokens_by_merges(frequencies, [(0, 1), (2, 0)])
    assert frequencies.tolist() == [1, 0, 0, 2]


@pytest.mark.parametrize("held_out", ["parallel/en.txt", "parallel/ja.txt", "code/python.py"])
def test_it_is_what_each_beginning_of_the_merges_gives(held_out: str) -> None:
    texts = bundled_texts()
    merges = reference.train(pretokens_of(texts["parallel/de.txt"][:4000]), num_merges=60)
    pretokens = pretokens_of(texts[held_out][:3000])
    found = ids_under(pretokens, merges)
    frequencies = np.array([found[id] for id in range(reference.NUM_BYTES + len(merges))])
    pairs = [(merge.left, merge.right) for merge in merges]
    assert tokens_by_merges(frequencies, pairs).tolist() == [
        ids_under(pretokens, merges[:number]).total() for number in range(len(merges) + 1)
    ]


def test_scaffolding_never_occurs_but_inside_what_does() -> None:
    merges = reference.train(Counter({b"abcd": 9, b"xy": 2}), num_merges=4)
    pairs = [(merge.left, merge.right) for merge in merges]
    found = ids_under(Counter({b"abcd": 1}), merges)
    frequencies = np.array([found[id] for id in range(reference.NUM_BYTES + len(merges))])
    entries = reference.vocabulary(merges)
    scaffold = {entries[id] for id in np.flatnonzero(scaffold_entries(frequencies, pairs))}
    assert scaffold == {b"ab", b"cd"}
