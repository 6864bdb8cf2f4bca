"""Parity-aware BPE: both kernels learn the same merges as the textbook, which learns those of the published program."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernels import counted_words, learn
from support.texts import bundled_texts, words

from tokbench.backends.bpe import reference
from tokbench.backends.bpe.parity.reference import (
    GLOBAL,
    ParityMerge,
    ParityRules,
    train_as_published,
    train_for_parity,
)
from tokbench.backends.bpe.reference import Merge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.backends.bpe.kernel import Kernel

Counts = dict[str, int]
word_counts = st.dictionaries(words | st.text("ab", min_size=1, max_size=8), st.integers(1, 9), max_size=6)
languages_of_text = st.integers(1, 4).flatmap(
    lambda size: st.tuples(
        st.lists(word_counts, min_size=size, max_size=size + 2),
        st.lists(word_counts, min_size=size, max_size=size),
        st.lists(st.integers(1, 5), min_size=size, max_size=size),
    )
)


def learned(
    kernel: Kernel,
    languages: Sequence[Counts],
    development: Sequence[Counts],
    *,
    num_merges: int,
    rules: ParityRules,
    min_frequency: int = 2,
    max_token_length: int | None = None,
    seed: int = 0,
) -> tuple[list[ParityMerge], int, list[int]]:
    """Return the merges that a kernel learns, the tokens of all text, and those of each development text."""
    pairs, counts, num_tokens, chosen_for, tokens = kernel.train_for_parity(
        [counted_words(kernel, text) for text in languages],
        [counted_words(kernel, text) for text in development],
        num_merges=num_merges,
        num_global=rules.global_merges,
        divisors=list(rules.divisors),
        window=rules.window,
        most_taken=rules.most_taken,
        min_frequency=min_frequency,
        max_token_length=max_token_length or 0,
        seed=seed,
        progress=None,
    )
    merges = [
        ParityMerge(Merge(left, right, count), language)
        for (left, right), count, language in zip(
            pairs.tolist(), counts.tolist(), chosen_for.tolist(), strict=True
        )
    ]
    return merges, num_tokens, tokens.tolist()


def as_bytes(texts: Sequence[Counts]) -> list[Mapping[bytes, int]]:
    return [{word.encode(): count for word, count in text.items()} for text in texts]


@given(
    texts=languages_of_text,
    num_merges=st.integers(0, 40),
    num_global=st.integers(0, 12),
    window=st.integers(0, 6),
    most_taken=st.integers(0, 4),
    min_frequency=st.integers(1, 4),
    max_token_length=st.none() | st.integers(1, 9),
    seed=st.integers(0, 2**63 - 1),
)
def test_parity_merges_equal_the_reference(
    kernel: Kernel,
    *,
    texts: tuple[list[Counts], list[Counts], list[int]],
    num_merges: int,
    num_global: int,
    window: int,
    most_taken: int,
    min_frequency: int,
    max_token_length: int | None,
    seed: int,
) -> None:
    languages, development, divisors = texts
    rules = ParityRules(
        global_merges=num_global, divisors=tuple(divisors), window=window, most_taken=most_taken
    )
    merges, num_tokens, tokens = learned(
        kernel,
        languages,
        development,
        num_merges=num_merges,
        rules=rules,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        seed=seed,
    )
    assert merges == train_for_parity(
        as_bytes(languages),
        as_bytes(development),
        num_merges=num_merges,
        rules=rules,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
    )
    ids = {(left, right): 256 + i for i, ((left, right, _), _) in enumerate(merges)}

    def num_tokens_of(text: Mapping[bytes, int]) -> int:
        return sum(count * len(reference.encode(word, ids)) for word, count in text.items())

    assert num_tokens == sum(map(num_tokens_of, as_bytes(languages)))
    assert tokens == list(map(num_tokens_of, as_bytes(development)))


@given(text=word_counts, development=word_counts, num_merges=st.integers(0, 30))
def test_parity_of_one_language_equals_plain_bpe(
    kernel: Kernel, text: Counts, development: Counts, num_merges: int
) -> None:
    plain, _ = learn(kernel, counted_words(kernel, text), num_merges=num_merges, min_frequency=2)
    rules = ParityRules(divisors=(1,))
    merges, _, _ = learned(kernel, [text], [development], num_merges=num_merges, rules=rules)
    assert [merge for merge, _ in merges] == plain


@given(texts=languages_of_text, num_merges=st.integers(0, 30))
def test_global_merges_only_equal_plain_bpe(
    kernel: Kernel, texts: tuple[list[Counts], list[Counts], list[int]], num_merges: int
) -> None:
    languages, development, divisors = texts
    together = sum(map(Counter, languages), Counter[str]())
    plain, _ = learn(kernel, counted_words(kernel, together), num_merges=num_merges, min_frequency=2)
    rules = ParityRules(global_merges=num_merges, divisors=tuple(divisors))
    merges, _, _ = learned(kernel, languages, development, num_merges=num_merges, rules=rules)
    assert merges == [ParityMerge(merge, GLOBAL) for merge in plain]


def test_language_with_the_most_tokens_is_next(kernel: Kernel) -> None:
    # "aabb" has 4 tokens and "xyz" 3, so (a, a) merges first. Then both have 3, and the first language is chosen again.
    merges, _, tokens = learned(
        kernel,
        [{"aabb": 3}, {"xyz": 9}, {"unheld": 99}],
        [{"aabb": 1}, {"xyz": 1}],
        num_merges=3,
        rules=ParityRules(divisors=(1, 1)),
    )
    assert merges == [((97, 97, 3), 0), ((98, 98, 3), 0), ((120, 121, 9), 1)]
    assert tokens == [2, 2]


def test_language_chosen_too_often_is_skipped(kernel: Kernel) -> None:
    rules = ParityRules(divisors=(1, 1), window=3, most_taken=1)
    merges, _, _ = learned(
        kernel,
        [{"abcdefgh": 3}, {"uvwxyz": 2}],
        [{"abcdefgh": 9}, {"uvwxyz": 1}],
        num_merges=6,
        rules=rules,
    )
    assert [language for _, language in merges] == [0, 0, 1, 1, 0, 0]


def test_divisors_normalize_the_token_counts(kernel: Kernel) -> None:
    texts: list[Counts] = [{"abcdefgh": 2}, {"xyz": 2}]
    merges, _, _ = learned(kernel, texts, texts, num_merges=1, rules=ParityRules(divisors=(8, 2)))
    assert merges == [((120, 121, 2), 1)]


@pytest.mark.parametrize(
    ("languages", "development", "divisors", "min_frequency", "said"),
    [
        ([{"ab": 1}], [], [], 2, "no development text"),
        ([], [{"ab": 1}], [1], 2, "has no language"),
        ([{"ab": 1}], [{"ab": 1}], [], 2, "a divisor for each"),
        ([{"ab": 1}], [{"ab": 1}], [0], 2, "out of range"),
        ([{"ab": 1}], [{"ab": 1}], [1 << 32], 2, "out of range"),
        ([{"ab": 1}], [{"ab": 1 << 31}], [1], 2, "more than 2 GiB"),
        ([{"ab": 1}], [{"ab": 1}], [1], 0, "min_frequency must be"),
    ],
)
def test_invalid_arguments_are_refused(
    kernel: Kernel,
    *,
    languages: list[Counts],
    development: list[Counts],
    divisors: list[int],
    min_frequency: int,
    said: str,
) -> None:
    with pytest.raises(ValueError, match=said):
        learned(
            kernel,
            languages,
            development,
            num_merges=1,
            rules=ParityRules(divisors=tuple(divisors)),
            min_frequency=min_frequency,
        )


# Hashes of the first 200 merges that the authors' program (commit 9e31091) wrote for five languages of the bundled
# text: it trains on the first 60 lines of each file, and the last 40 are the development text.
PUBLISHED = {
    "base": (ParityRules(divisors=(1,) * 5), "6d2bb09711714e62"),
    "window": (
        ParityRules(divisors=(1,) * 5, window=20, most_taken=math.floor(20 * 1 / 5)),
        "24adf1c6238c3319",
    ),
    "hybrid": (
        ParityRules(global_merges=150, divisors=(1,) * 5, window=20, most_taken=math.floor(20 * 2 / 6)),
        "3dcf48ce4a0bed23",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("variant", PUBLISHED)
def test_reference_learns_the_published_merges(variant: str) -> None:
    rules, digest = PUBLISHED[variant]
    files = [
        bundled_texts()[f"parallel/{language}.txt"].splitlines()
        for language in ("de", "en", "sw", "th", "am")
    ]
    merges = train_as_published(
        [published_words(lines[:60]) for lines in files],
        [published_words(lines[60:]) for lines in files],
        num_merges=200,
        rules=rules,
    )
    lines = "".join(f"{left} {right}\n" for left, right in merges)
    assert hashlib.sha256(lines.encode()).hexdigest()[:16] == digest


def published_words(lines: Sequence[str]) -> Counter[str]:
    """Split words as the program does: without white space, a space before each, a character for each byte."""
    from tokenizers import pre_tokenizers

    split = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Whitespace(),
            pre_tokenizers.ByteLevel(use_regex=False),
        ]
    )
    return Counter(word for line in lines for word, _ in split.pre_tokenize_str(line + "\n"))
