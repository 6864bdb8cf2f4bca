"""Merging: both kernels encode like the textbook, however tokens overlap.

With few letters and many tokens, nearly every merge uses a letter that another one needs, and the order of merges
depends on distant letters. The characters share bytes, so that merges also cross character boundaries.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tokbench.backends.bpe import reference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.backends.bpe.kernel import Kernel

LETTERS = ["abc", "жЖц", "aжЖ", "亜亝二"]

texts_of_few_letters = st.sampled_from(LETTERS).flatmap(
    lambda letters: st.text(letters, min_size=1, max_size=40)
)


@st.composite
def merges_within(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> tuple[str, list[tuple[int, int]]]:
    """Draw a text and merges: each merge is an adjacent pair of a word that earlier merges made from the text."""
    text = draw(texts)
    merges: list[tuple[int, int]] = []
    words = [tuple(text.encode())]
    for _ in range(draw(st.integers(0, 25))):
        word = draw(st.sampled_from(words))
        if len(word) < 2:
            break
        place = draw(st.integers(0, len(word) - 2))
        pair = (word[place], word[place + 1])
        if pair in merges:
            continue
        merges.append(pair)
        words.append(reference.merge_pair(word, pair, 255 + len(merges)))
    return text, merges


def merged_by_rank(pretoken: bytes, ranks: Mapping[bytes, int]) -> list[int]:
    """Repeatedly merge the adjacent pair whose bytes have the smallest rank, the leftmost of equal ones."""
    if pretoken in ranks:
        return [ranks[pretoken]]
    word = [bytes([value]) for value in pretoken]
    while True:
        joined = [
            (ranks[left + right], place)
            for place, (left, right) in enumerate(pairwise(word))
            if left + right in ranks
        ]
        if not joined:
            return [ranks[piece] for piece in word]
        _, place = min(joined)
        word[place : place + 2] = [word[place] + word[place + 1]]


@given(example=merges_within(texts_of_few_letters))
def test_merges_are_applied_in_their_order(
    kernel: Kernel, example: tuple[str, list[tuple[int, int]]]
) -> None:
    text, merges = example
    encoder = kernel.encoder_from_merges(np.array(merges, dtype=np.uint32).reshape(-1, 2), None)
    pretoken = text.encode()
    expected = reference.encode(pretoken, {pair: 256 + number for number, pair in enumerate(merges)})
    assert list(encoder.encode_split(text, [len(pretoken)])) == expected


@given(data=st.data(), text=texts_of_few_letters)
def test_tokens_are_merged_by_rank(kernel: Kernel, data: st.DataObject, text: str) -> None:
    pretoken = text.encode()
    places = st.tuples(st.integers(0, len(pretoken) - 1), st.integers(2, 5))
    slices = {pretoken[start : start + size] for start, size in data.draw(st.lists(places, max_size=25))}
    bytes_alone = {bytes([value]) for value in range(256)}
    tokens = data.draw(
        st.permutations(sorted(slices - bytes_alone)).map(lambda longer: [*sorted(bytes_alone), *longer])
    )
    encoder = kernel.encoder_from_ranks(tokens, None)
    expected = merged_by_rank(pretoken, {token: rank for rank, token in enumerate(tokens)})
    assert list(encoder.encode_split(text, [len(pretoken)])) == expected
