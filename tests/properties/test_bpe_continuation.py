"""Continued training: both kernels learn the same merges as the textbook."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernels import counted_words, learn
from support.texts import texts, words

from tokbench.backends.bpe import reference
from tokbench.backends.bpe.folder import pairs_of
from tokbench.backends.bpe.reference import Merge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.backends.bpe.kernel import Kernel

word_counts = st.dictionaries(words | texts.filter(bool), st.integers(1, 9), min_size=1, max_size=8)
spaced = st.text(alphabet="ab: ", min_size=1, max_size=30)


def continued(
    kernel: Kernel,
    counts: Mapping[str, int],
    inherited: Sequence[Merge],
    *,
    num_merges: int,
    min_frequency: int = 1,
    max_token_length: int | None = None,
    max_words: int = 0,
    excluded: bytes = b"",
    seed: int = 0,
) -> tuple[list[Merge], int]:
    """Continue a training on words that the kernel encodes with the inherited merges."""
    encoder = kernel.encoder_from_merges(pairs_of(inherited), None)
    cut = [encoder.encode(word) for word in counts]
    pairs, times, num_tokens = kernel.continue_training(
        np.array([id for word in cut for id in word], dtype=np.uint32),
        np.array([0, *accumulate(map(len, cut))], dtype=np.int64),
        np.array(list(counts.values()), dtype=np.int64),
        encoder.tokens(),
        num_merges=num_merges,
        min_frequency=min_frequency,
        max_token_length=max_token_length or 0,
        max_words=max_words,
        excluded=excluded,
        seed=seed,
        progress=None,
    )
    learned = zip(pairs.tolist(), times.tolist(), strict=True)
    merges = [Merge(left, right, count) for (left, right), count in learned]
    return merges, num_tokens


def once_each(merges: Sequence[Merge]) -> list[Merge]:
    """Return the merges before the first one whose bytes are already a token."""
    tokens = reference.vocabulary(merges)
    first = next((i for i, token in enumerate(tokens) if token in tokens[:i]), len(tokens))
    return list(merges[: first - reference.NUM_BYTES])


@given(
    old=word_counts,
    new=word_counts,
    num_inherited=st.integers(0, 20),
    num_merges=st.integers(0, 40),
    min_frequency=st.integers(1, 4),
    max_token_length=st.none() | st.integers(1, 9),
    seed=st.integers(0, 2**63 - 1),
)
def test_continued_training_equals_the_reference(
    kernel: Kernel,
    *,
    old: dict[str, int],
    new: dict[str, int],
    num_inherited: int,
    num_merges: int,
    min_frequency: int,
    max_token_length: int | None,
    seed: int,
) -> None:
    pretokens = {word.encode(): count for word, count in old.items()}
    inherited = once_each(reference.train(pretokens, num_merges=num_inherited, min_frequency=1))
    merges, num_tokens = continued(
        kernel,
        new,
        inherited,
        num_merges=num_merges,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        seed=seed,
    )
    text = {word.encode(): count for word, count in new.items()}
    assert merges == reference.continue_training(
        text,
        inherited,
        num_merges=num_merges,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
    )
    ids = {(left, right): 256 + i for i, (left, right, _) in enumerate([*inherited, *merges])}
    assert num_tokens == sum(count * len(reference.encode(word, ids)) for word, count in text.items())


@given(counts=st.dictionaries(spaced, st.integers(1, 9), min_size=1, max_size=5), max_words=st.integers(1, 3))
def test_excluded_tokens_are_not_learned(kernel: Kernel, counts: dict[str, int], max_words: int) -> None:
    merges, _ = continued(kernel, counts, [], num_merges=30, max_words=max_words, excluded=b": ")
    assert merges == reference.continue_training(
        {word.encode(): count for word, count in counts.items()},
        [],
        num_merges=30,
        min_frequency=1,
        may_be_token=lambda token: b": " not in token and len(token.split()) <= max_words,
    )


@given(counts=word_counts, first=st.integers(0, 30), seed=st.integers(0, 2**63 - 1))
def test_continuing_on_the_same_text_equals_a_longer_training(
    kernel: Kernel, counts: dict[str, int], first: int, seed: int
) -> None:
    whole, _ = learn(kernel, counted_words(kernel, counts), num_merges=50)
    whole = once_each(whole)
    merges, _ = continued(kernel, counts, whole[:first], num_merges=max(len(whole) - first, 0), seed=seed)
    assert [*whole[:first], *merges] == whole


def test_existing_token_bytes_are_not_learned_again(kernel: Kernel) -> None:
    # No word contains the token "ab" + "c": in "abc", "bc" merges first.
    inherited = [Merge(98, 99, 1), Merge(97, 98, 1), Merge(257, 99, 1)]
    assert continued(kernel, {"abc": 5, "xabc": 2}, inherited, num_merges=9)[0] == [
        Merge(120, 97, 2),
        Merge(259, 256, 2),
    ]


@pytest.mark.parametrize(
    ("ids", "offsets", "counts", "said"),
    [
        ([97], [0, 1], [], "one offset more"),
        ([97], [-1, 1], [1], "an offset is negative"),
        ([97], [0, 2], [1], "word 0 ends where no word can"),
        ([97, 97], [0, 2, 1], [1, 1], "word 1 ends where no word can"),
        ([97], [0, 1], [0], "word 0 has a count below 1"),
        ([256], [0, 1], [1], "id 256 has no token"),
        ([98], [0, 1], [1], "id 98 has no token"),
    ],
)
def test_invalid_words_are_refused(
    kernel: Kernel, ids: list[int], offsets: list[int], counts: list[int], said: str
) -> None:
    tokens = [bytes([value]) for value in range(256)]
    tokens[98] = b""
    with pytest.raises(ValueError, match=said):
        kernel.continue_training(
            np.array(ids, dtype=np.uint32),
            np.array(offsets, dtype=np.int64),
            np.array(counts, dtype=np.int64),
            tokens,
            num_merges=1,
            min_frequency=1,
            max_token_length=0,
            max_words=0,
            excluded=b"",
            seed=0,
            progress=None,
        )
