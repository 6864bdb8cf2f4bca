"""Superwords: both kernels learn like the textbook and split by SuperBPE's pattern."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import regex
from hypothesis import assume, given
from hypothesis import strategies as st
from support.kernels import chosen, counted_by_definition
from support.texts import texts
from tokenizers import Regex, pre_tokenizers

from tokbench.backends.bpe import BpeBackend, reference
from tokbench.backends.bpe.config import BpeConfig
from tokbench.backends.bpe.split_patterns import resolve_pattern, split

if TYPE_CHECKING:
    from tokbench.backends.bpe.kernel import Kernel

spaced = st.text(alphabet="ab: .\n1", min_size=1, max_size=40)
PUBLISHED = pre_tokenizers.Split(Regex(r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)"), "isolated")
"""The authors' pattern; text that no alternative matches stays together."""


CLASSES = {name: pre_tokenizers.Split(Regex(name), "removed") for name in (r"\p{L}", r"\p{N}", r"\s")}


def has_same_classes(character: str) -> bool:
    """Whether the library, whose Unicode tables are older, classifies a character as we do."""
    return all(
        bool(regex.fullmatch(name, character)) != bool(removing.pre_tokenize_str(character))
        for name, removing in CLASSES.items()
    )


def test_usual_characters_have_the_same_classes() -> None:
    """Others, such as the small seal script of Unicode 18, are left out of the comparison."""
    assert all(map(has_same_classes, "a1 \n!字\u0301é٣\u3000"))


@given(text=spaced | st.text(alphabet="a\u4e9c 1\t\r\n!/\u0301\u00a0", max_size=30) | texts)
def test_pattern_and_scanner_split_as_the_published_one(kernel: Kernel, text: str) -> None:
    assume(all(map(has_same_classes, text)))
    pieces = [piece for piece, _ in PUBLISHED.pre_tokenize_str(text)]
    assert split(resolve_pattern("superwords"), text) == pieces
    data = text.encode()
    ends = kernel.split("superwords", data).tolist()
    assert [data[start:stop].decode() for start, stop in pairwise([0, *ends])] == pieces


@given(
    documents=st.lists(spaced | texts.filter(bool), min_size=1, max_size=6),
    num_first=st.integers(0, 20),
    num_more=st.integers(0, 40),
    min_frequency=st.integers(1, 4),
    max_token_length=st.none() | st.integers(1, 9),
    seed=st.integers(0, 2**63 - 1),
)
def test_superword_merges_equal_the_reference(
    kernel: Kernel,
    *,
    documents: list[str],
    num_first: int,
    num_more: int,
    min_frequency: int,
    max_token_length: int | None,
    seed: int,
) -> None:
    config = BpeConfig(
        vocab_size=256 + num_first + num_more,
        superwords=256 + num_first,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        seed=seed,
        threads=1,
    )
    with chosen(kernel.name):
        tokenizer = BpeBackend().train(documents, config)
    merges = reference.train_superwords(
        counted_by_definition(documents),
        counted_by_definition(documents, pattern="superwords"),
        num_first=num_first,
        num_merges=num_first + num_more,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
    )
    assert tokenizer.merges == tuple(merges)
    pairs = {(left, right): id for id, (left, right, _) in enumerate(merges, 256)}
    for text in documents:
        by_definition = [
            id for pretoken in tokenizer.pretokens(text) for id in reference.encode(pretoken.encode(), pairs)
        ]
        assert tokenizer.encode(text) == by_definition
        assert tokenizer.decode(by_definition) == text
