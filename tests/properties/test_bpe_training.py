"""Training: both kernels learn the same merges as the textbook; `test_pretoken_counter.py` tests the counting."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernels import counted, counted_by_definition, counted_words, learn
from support.texts import bundled_texts, texts, words

from tokbench.backends.bpe import reference
from tokbench.backends.bpe.split_patterns import PATTERN_NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.backends.bpe.kernel import Kernel

word_counts = st.dictionaries(words | texts.filter(bool), st.integers(1, 9), max_size=8)


def encoded_length(words: Mapping[bytes, int], merges: Sequence[reference.Merge]) -> int:
    ids = {(left, right): reference.NUM_BYTES + number for number, (left, right, _) in enumerate(merges)}
    return sum(count * len(reference.encode(word, ids)) for word, count in words.items())


# Learning


@given(
    words=word_counts,
    num_merges=st.integers(0, 60),
    min_frequency=st.integers(1, 6),
    max_token_length=st.none() | st.integers(1, 9),
    seed=st.integers(0, 2**63 - 1),
)
def test_merges_equal_the_reference(
    kernel: Kernel,
    *,
    words: dict[str, int],
    num_merges: int,
    min_frequency: int,
    max_token_length: int | None,
    seed: int,
) -> None:
    counter = counted_words(kernel, words, seed=seed)
    merges, num_tokens = learn(
        kernel,
        counter,
        num_merges=num_merges,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        seed=seed,
    )
    pretokens = {word.encode(): count for word, count in words.items()}
    assert merges == reference.train(
        pretokens, num_merges=num_merges, min_frequency=min_frequency, max_token_length=max_token_length
    )
    assert num_tokens == encoded_length(pretokens, merges)


@pytest.mark.parametrize(
    "name",
    ["gpt4", *(pytest.param(name, marks=pytest.mark.slow) for name in PATTERN_NAMES if name != "gpt4")],
)
def test_merges_of_real_text_equal_the_reference(kernel: Kernel, name: str) -> None:
    excerpts = [text[:150] for text in bundled_texts().values()]
    counter = counted(kernel, excerpts, pattern=name)
    merges, num_tokens = learn(kernel, counter, num_merges=40)
    pretokens = counted_by_definition(excerpts, pattern=name)
    assert merges == reference.train(pretokens, num_merges=40, min_frequency=1)
    assert num_tokens == encoded_length(pretokens, merges)


@pytest.mark.parametrize("letters", ["a" * 1000, "ab" * 500, "aab" * 300, "a" * 999 + "b", "aba" * 333])
def test_merges_of_long_runs_equal_the_reference(kernel: Kernel, letters: str) -> None:
    merges, _ = learn(kernel, counted_words(kernel, {letters: 3, "a": 1, "ba": 2}), num_merges=100)
    assert merges == reference.train(
        {letters.encode(): 3, b"a": 1, b"ba": 2}, num_merges=100, min_frequency=1
    )


def test_short_and_long_pretokens_are_trained_on_together(native: Kernel) -> None:
    """Pre-tokens of more than 100 bytes are stored in another way than shorter ones."""
    letters = random.Random(5)
    words = {"".join(letters.choices("aab", k=size)): size % 7 + 1 for size in range(90, 110)}
    words |= {"ab": 4, "a" * 100: 2, "a" * 101: 2, "b" * 99: 3}
    merges, num_tokens = learn(native, counted_words(native, words), num_merges=150)
    pretokens = {word.encode(): count for word, count in words.items()}
    assert merges == reference.train(pretokens, num_merges=150, min_frequency=1)
    assert num_tokens == encoded_length(pretokens, merges)


def test_ids_beyond_16_bits_are_learned_alike(native: Kernel) -> None:
    letters = random.Random(6)
    words = {"".join(letters.choices("abcdefghijklmnop", k=9)): number % 9 + 1 for number in range(40_000)}
    counter = counted_words(native, words)
    few, _ = learn(native, counter, num_merges=65_536 - 256)
    many, num_tokens = learn(native, counter, num_merges=80_000)
    assert len(few) == 65_536 - 256
    assert many[: len(few)] == few
    assert max(max(merge.left, merge.right) for merge in many) > 65_536
    rows = np.array([merge[:2] for merge in many], dtype=np.uint32)
    encoder = native.encoder_from_merges(rows, None)
    assert num_tokens == sum(count * len(encoder.encode(word)) for word, count in words.items())


def test_first_merges_do_not_depend_on_the_requested_number(native: Kernel) -> None:
    """The number of merges decides which pairs are tracked from the beginning."""
    counter = counted(native, bundled_texts().values())
    expected, _ = learn(native, counter, num_merges=6000)
    for num_merges in (1, 10, 300, 2500):
        assert learn(native, counter, num_merges=num_merges)[0] == expected[:num_merges]


def test_second_thread_gives_the_same_merges(native: Kernel) -> None:
    """It handles half of the pre-tokens of a merge that affects some thousand."""
    letters = random.Random(7)
    words = {
        "".join(letters.choices("aabc", k=letters.randrange(2, 14))): number % 5 + 1
        for number in range(30_000)
    }
    counter = counted_words(native, words)
    assert learn(native, counter, num_merges=2000, threads=2) == learn(native, counter, num_merges=2000)


def test_counts_are_64_bit(kernel: Kernel) -> None:
    many = 2**60
    merges, num_tokens = learn(kernel, counted_words(kernel, {"ab": many, "abab": 2}), num_merges=1)
    assert merges == [reference.Merge(*b"ab", many + 4)]
    assert num_tokens == many + 4


@given(words=word_counts, min_frequency=st.integers(1, 4))
def test_no_two_tokens_have_the_same_bytes(kernel: Kernel, words: dict[str, int], min_frequency: int) -> None:
    counter = counted_words(kernel, words)
    merges, _ = learn(kernel, counter, num_merges=200, min_frequency=min_frequency)
    tokens = reference.vocabulary(merges)
    assert len(set(tokens)) == len(tokens)


@given(words=word_counts, longest=st.integers(1, 12))
def test_no_token_is_longer_than_allowed(kernel: Kernel, words: dict[str, int], longest: int) -> None:
    merges, _ = learn(kernel, counted_words(kernel, words), num_merges=200, max_token_length=longest)
    assert all(len(token) <= longest for token in reference.vocabulary(merges))


def test_merges_do_not_depend_on_threads_or_seed(native: Kernel) -> None:
    texts = list(bundled_texts().values()) * 5
    expected = learn(native, counted(native, texts), num_merges=3000)
    for threads, seed in [(2, 1), (3, 2**62), (8, 987_654_321)]:
        counter = counted(native, texts, threads=threads, seed=seed)
        assert learn(native, counter, num_merges=3000, seed=seed) == expected


def test_a_minimum_frequency_below_one_is_refused(kernel: Kernel) -> None:
    counter = counted(kernel, ["a b"])
    with pytest.raises(ValueError, match=r"^min_frequency must be at least 1$"):
        learn(kernel, counter, num_merges=1, min_frequency=0)
