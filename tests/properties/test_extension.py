"""Extension of a vocabulary only joins tokens of the old one, whatever the old one is and what it learns from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.kernels import chosen
from support.texts import texts, words

from tokbench.backends.bpe import reference
from tokbench.core.progress import no_progress
from tokbench.surgery.growth import CountedPretokens, Vocabulary, grow, made_of, unchanged_words

if TYPE_CHECKING:
    from tokbench.backends.bpe.kernel import Kernel

word_counts = st.dictionaries(words | texts.filter(bool), st.integers(1, 9), min_size=1, max_size=8)


def trained(counts: dict[str, int], *, num_merges: int, whole_tokens_first: bool = False) -> Vocabulary:
    """Train a vocabulary by the textbook, without two tokens of the same bytes."""
    merges = reference.continue_training(
        {word.encode(): count for word, count in counts.items()}, [], num_merges=num_merges, min_frequency=1
    )
    made = tuple((left, right, 256 + i) for i, (left, right, _) in enumerate(merges))
    return Vocabulary(tuple(reference.vocabulary(merges)), made, whole_tokens_first)


@given(
    old=word_counts,
    new=word_counts,
    others=st.lists(texts, max_size=5),
    num_merges=st.integers(0, 30),
    whole_tokens_first=st.booleans(),
)
def test_words_become_coarser_or_stay_the_same(
    kernel: Kernel,
    *,
    old: dict[str, int],
    new: dict[str, int],
    others: list[str],
    num_merges: int,
    whole_tokens_first: bool,
) -> None:
    vocabulary = trained(old, num_merges=num_merges, whole_tokens_first=whole_tokens_first)
    counted = CountedPretokens(list(new), np.array(list(new.values()), np.int64))
    with chosen(kernel.name):
        found = grow(vocabulary, counted, num_tokens=30, min_frequency=1, threads=1, progress=no_progress)
        grown = vocabulary.grown(found)
        everything = [*old, *new, *others]
        before, after = (pieces.cut(everything, threads=1) for pieces in (vocabulary, grown))
        unchanged = unchanged_words(vocabulary, grown, everything, threads=1)
        assert unchanged == int((np.diff(before.offsets) == np.diff(after.offsets)).sum())
    assert grown.tokens[: len(vocabulary.tokens)] == vocabulary.tokens
    assert grown.merges[: len(vocabulary.merges)] == vocabulary.merges
    if (
        not whole_tokens_first
    ):  # with it, a word that equals a new token is taken whole, whatever its old tokens were
        spelled = made_of(found, first_id=len(vocabulary.tokens))
        parts = [part for id in after.ids.tolist() for part in spelled.get(id, [id])]
        assert parts == before.ids.tolist()
        cut, again = (pieces.cut(list(new), threads=1) for pieces in (vocabulary, grown))
        *_, num_tokens = kernel.continue_training(
            cut.ids,
            cut.offsets,
            counted.counts,
            list(vocabulary.tokens),
            num_merges=30,
            min_frequency=1,
            max_token_length=0,
            max_words=0,
            excluded=b"",
            seed=0,
            progress=None,
        )
        assert num_tokens == int((np.diff(again.offsets) * counted.counts).sum())


def test_coarsening_has_no_new_boundary() -> None:
    letters = tuple(bytes([value]) for value in range(256))
    old = Vocabulary(letters, ()).grown([(97, 98, 1)])  # type: ignore[list-item]  # ab
    assert unchanged_words(old, old.grown([(256, 99, 1)]), ["abc", "b"], threads=1) == 1  # type: ignore[list-item]  # ab c → abc
    other = Vocabulary(letters, ()).grown([(98, 99, 1)])  # type: ignore[list-item]  # a bc
    assert unchanged_words(old, other, ["abc"], threads=1) is None


def test_words_with_bytes_without_a_token_are_skipped(kernel: Kernel) -> None:
    """Like Falcon, which lacks control characters: without byte 3, the id of "a" is 96, and that of "ab" 255."""
    vocabulary = Vocabulary(tuple(bytes([value]) for value in range(256) if value != 3), ())
    counted = CountedPretokens(["abab", "a\3"], np.array([3, 9], np.int64)).without(vocabulary.missing_bytes)
    with chosen(kernel.name):
        found = grow(vocabulary, counted, num_tokens=1, min_frequency=1, threads=1, progress=no_progress)
        assert found == [(96, 97, 6)]
        assert vocabulary.grown(found).cut(["abc"], threads=1).ids.tolist() == [255, 98]


def test_partial_characters_are_split_by_bytes(kernel: Kernel) -> None:
    """Like Falcon, which splits "fü" into 66 c3 and bc; 66 c3 occurs twice and becomes 256."""
    vocabulary = Vocabulary(tuple(bytes([value]) for value in range(256)), ())
    words = ["f\udcc3", "é", "\udcbc", "\udcbcf\udcc3", "", "ab"]
    counted = CountedPretokens(words, np.ones(len(words), np.int64))
    with chosen(kernel.name):
        found = grow(vocabulary, counted, num_tokens=1, min_frequency=1, threads=1, progress=no_progress)
        assert found == [(0x66, 0xC3, 2)]
        cut = vocabulary.grown(found).cut(words, threads=1)
    assert cut.ids.tolist() == [256, 0xC3, 0xA9, 0xBC, 0xBC, 256, 97, 98]
    assert cut.offsets.tolist() == [0, 1, 3, 4, 6, 6, 8]
    assert counted.without(b"\xc3").words == ["\udcbc", "", "ab"]
