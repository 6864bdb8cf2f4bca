"""Linear time: any text of 300 kB is split, learned from and encoded within a bounded time.

Linear algorithms take well under a second of processor time here; the bounds allow for slow machines, and quadratic
algorithms exceed them by orders of magnitude.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from itertools import product
from time import process_time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.kernels import chosen, counted, counted_words, learn
from support.texts import FEW_REPRESENTATIVES

from tokbench.backends.bpe import BpeBackend
from tokbench.backends.bpe.config import BpeConfig
from tokbench.backends.bpe.split_patterns import PATTERN_NAMES
from tokbench.core.tokens import SpecialPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.backends.bpe.kernel import Encoder, Kernel

SECONDS = 8
SIZES = {"native": 300_000, "python": 20_000}
"""Bytes of a text; the Python kernel is linear too, but some hundred times slower."""


def letters(alphabet: str, size: int) -> str:
    return "".join(random.Random(1).choices(alphabet, k=size))


KINDS = {
    "one letter": lambda size: "a" * size,
    "two letters": lambda size: letters("ab", size),
    "random letters": lambda size: letters("abcdefghijklmnopqrstuvwxyz", size),
    "one CJK character": lambda size: "亜" * (size // 3),
    "one emoji": lambda size: "🙂" * (size // 4),
    "spaces": lambda size: " " * size,
    "alternating spaces": lambda size: "a " * (size // 2),
    "indented line ends": lambda size: "\n  " * (size // 3),
    "apostrophes": lambda size: "x's" * (size // 3),
    "line ends": lambda size: "\n" * size,
    "punctuation": lambda size: letters("'.,!", size),
    "capitals": lambda size: "A" * size,
    "marks": lambda size: "\u0301" * (size // 2),
    "digits": lambda size: letters("0123456789", size),
}


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Check that the body of the context takes less than this many seconds of processor time."""
    started = process_time()
    yield
    assert process_time() - started < seconds


def encoder_of(kernel: Kernel, text: str, pattern: str) -> Encoder:
    merges, _ = learn(kernel, counted(kernel, [text], pattern=pattern), num_merges=300)
    rows = np.array([merge[:2] for merge in merges], dtype=np.uint32).reshape(-1, 2)
    return kernel.encoder_from_merges(rows, pattern)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "pattern", ["gpt4", *(pytest.param(name, marks=pytest.mark.slow) for name in ("gpt4o", "none"))]
)
def test_repetitive_text_is_trained_and_encoded_in_bounded_time(
    kernel: Kernel, pattern: str, kind: str
) -> None:
    text = KINDS[kind](SIZES[kernel.name])
    with within(SECONDS):
        encoder = encoder_of(kernel, text, pattern)
        ids = encoder.encode(text)
    decoder = kernel.decoder(encoder.tokens())
    assert decoder.decode(np.array(ids, dtype=np.uint32)) == text.encode()


@pytest.mark.parametrize(
    "kind", ["one letter", "two letters", "random letters", "one CJK character", "digits"]
)
def test_one_long_pretoken_is_trained_on_in_bounded_time(kernel: Kernel, kind: str) -> None:
    word = KINDS[kind](SIZES[kernel.name])
    with within(SECONDS):
        merges, num_tokens = learn(kernel, counted_words(kernel, {word: 3}), num_merges=3000)
    assert 0 < num_tokens < 3 * len(word.encode())
    assert merges[0].count > merges[-1].count


@pytest.mark.parametrize("size", [20, 100, 101, 1000])
def test_training_time_does_not_depend_on_pretoken_length(native: Kernel, size: int) -> None:
    """Longer pre-tokens are stored in another way, so that none is scanned repeatedly."""
    text = letters("abcdefghijklmnopqrstuvwxyz", SIZES["native"])
    words = {text[start : start + size]: 1 for start in range(0, len(text), size)}
    with within(SECONDS / 4):
        learn(native, counted_words(native, words), num_merges=10_000)


def test_long_pretoken_is_merged_by_rank_in_bounded_time(kernel: Kernel) -> None:
    ranks = [*(bytes([value]) for value in range(256)), *(b"a" * size for size in range(2, 300))]
    encoder = kernel.encoder_from_ranks(ranks, "gpt4")
    with within(SECONDS):
        ids = encoder.encode("a" * SIZES[kernel.name])
    assert sum(len(ranks[id]) for id in ids) == SIZES[kernel.name]


@pytest.mark.parametrize("kind", ["one letter", "random letters", "one emoji"])
def test_long_text_is_segmented_in_bounded_time(kernel: Kernel, kind: str) -> None:
    size = SIZES[kernel.name] // 8  # creating token objects takes most of the time
    text = KINDS[kind](size) + "<e>" + KINDS[kind](size)
    with within(SECONDS), chosen(kernel.name):
        tokenizer = BpeBackend().train([text], BpeConfig(special_tokens=("<e>",)))
        tokens = tokenizer.segment(text, special=SpecialPolicy.ENCODE).tokens
        assert tokenizer.decode([token.id for token in tokens]) == text


@pytest.mark.parametrize("pattern", PATTERN_NAMES)
def test_repeated_character_pairs_are_split_in_bounded_time(native: Kernel, pattern: str) -> None:
    for pair in product(FEW_REPRESENTATIVES, repeat=2):
        text = "".join(pair) * 30_000 + "x"
        with within(SECONDS / 4):
            native.split(pattern, text.encode())


def test_indentation_is_split_in_bounded_time(native: Kernel) -> None:
    text = "  \t" * 6_000 + "x"
    with within(0.2):
        native.split("code", text.encode())


@pytest.mark.parametrize("near", ["<|", "<|endoftext|", "|>", "<|endoftext|>"])
def test_almost_special_tokens_are_searched_once(native: Kernel, near: str) -> None:
    special_tokens = [
        "<|endoftext|>",
        "<|pad|>",
        "<|endofprompt|>",
        *(f"<|{number}|>" for number in range(50)),
    ]
    text = near * (SIZES["native"] // len(near))
    with within(SECONDS):
        counted(native, [text], special_tokens=special_tokens)


def test_unsplittable_source_in_small_blocks_is_fed_in_bounded_time(native: Kernel) -> None:
    counter = native.new_counter(pattern="gpt4", special_tokens=["<e>"], threads=1, seed=0)
    with within(SECONDS):
        counter.begin_source("file")
        for _ in range(300_000):
            counter.feed(b"12 34 56 78")
        counter.end_source()
        counter.finish()
    assert counter.num_bytes == 3_300_000
