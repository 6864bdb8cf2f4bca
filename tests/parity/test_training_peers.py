"""Training learns the same merges as `rustbpe`, `tokenizers` and recorded runs."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pytest
import rustbpe
from support.kernels import counted, counted_by_definition, counted_words, kernel_named, learn
from support.texts import bundled_texts
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from tokbench.backends.bpe import fallback, reference
from tokbench.backends.bpe.split_patterns import PATTERN_NAMES, resolve_pattern
from tokbench.formats.tokenizer_json import from_byte_level, to_byte_level

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tokbench.backends.bpe.kernel import Kernel

SPLITTING = [name for name in PATTERN_NAMES if name != "none"]
SIZES = [512, 4096, 8192]

MergedBytes = tuple[bytes, bytes]
"""A merge as the bytes of its two tokens, independent of their ids."""


def merged_bytes(merges: Iterable[Sequence[int]], tokens: Sequence[bytes]) -> list[MergedBytes]:
    return [(tokens[left], tokens[right]) for left, right, *_ in merges]


# rustbpe


@cache
def vocabulary_of_rustbpe(name: str) -> list[bytes]:
    """Train rustbpe on all bundled text with the largest size, whose beginnings are the smaller sizes."""
    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(
        iter(bundled_texts().values()), max(SIZES), pattern=resolve_pattern(name).regex
    )
    ranks = {bytes(token): rank for token, rank in tokenizer.get_mergeable_ranks()}
    assert sorted(ranks.values()) == list(range(max(SIZES)))
    return sorted(ranks, key=ranks.__getitem__)


@pytest.mark.slow
@pytest.mark.parametrize("name", SPLITTING)
def test_merges_of_all_bundled_text_equal_rustbpes(native: Kernel, name: str) -> None:
    counter = counted(native, bundled_texts().values(), pattern=name)
    for size in SIZES:
        merges, _ = learn(native, counter, num_merges=size - 256)
        assert reference.vocabulary(merges) == vocabulary_of_rustbpe(name)[:size]


@pytest.mark.slow
def test_python_kernel_learns_the_same_merges() -> None:
    """One pattern suffices, because `test_pretoken_counter` compares the counts of both kernels for each."""
    kernel = kernel_named("python")
    counter = counted(kernel, bundled_texts().values(), pattern="gpt4")
    merges, _ = learn(kernel, counter, num_merges=SIZES[0] - 256)
    assert reference.vocabulary(merges) == vocabulary_of_rustbpe("gpt4")[: SIZES[0]]


@pytest.mark.parametrize("size", SIZES)
def test_vocabularies_of_rustbpe_are_nested(size: int) -> None:
    # This is why one run of rustbpe suffices for all sizes above.
    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(iter(bundled_texts().values()), size, pattern=resolve_pattern("gpt4").regex)
    ranks = [bytes(token) for token, _ in sorted(tokenizer.get_mergeable_ranks(), key=lambda entry: entry[1])]
    assert ranks == vocabulary_of_rustbpe("gpt4")[:size]


# tokenizers: its ids of bytes are in the order of the characters that represent them, which breaks
# ties differently. Each byte is therefore renamed to its id there; on renamed bytes both must
# learn the same merges in the same order, ties included.

BYTES_IN_ORDER = sorted((bytes([value]) for value in range(256)), key=to_byte_level)
"""The bytes ordered by their ids in `tokenizers`: "!" is 0."""

RENAMED = bytes(BYTES_IN_ORDER.index(bytes([value])) for value in range(256))
"""A translation table: byte → its id in `tokenizers`."""


def merges_of_tokenizers(texts: Iterable[str], *, pattern: str, size: int) -> list[MergedBytes]:
    spelling = resolve_pattern(pattern).oniguruma
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = (
        byte_level
        if spelling is None
        else pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(spelling), "isolated"), byte_level])
    )
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    alphabet = sorted(model["vocab"], key=model["vocab"].__getitem__)[:256]
    assert [from_byte_level(character) for character in alphabet] == BYTES_IN_ORDER
    return [(from_byte_level(left), from_byte_level(right)) for left, right in model["merges"]]


class RenamedCounter:
    """A finished counter of pre-tokens in renamed bytes, for the Python kernel."""

    def __init__(self, pretokens: Mapping[bytes, int]) -> None:
        self._pretokens = pretokens

    def items(self) -> list[tuple[bytes, int]]:
        return [(pretoken.translate(RENAMED), count) for pretoken, count in self._pretokens.items()]


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("gpt4", 1024),
        pytest.param("gpt4", 8192, marks=pytest.mark.slow),
        *(pytest.param(name, 1024, marks=pytest.mark.slow) for name in PATTERN_NAMES if name != "gpt4"),
    ],
)
def test_merges_of_all_bundled_text_equal_those_of_tokenizers(name: str, size: int) -> None:
    """Compare the bytes of both sides of each merge, in order, after renaming, on the Python kernel.

    For few merges every sixth text suffices.
    """
    texts = list(bundled_texts().values())[:: 1 if size > 1024 else 6]
    pairs, _, _ = fallback.train(
        RenamedCounter(counted_by_definition(texts, pattern=name)),  # type: ignore[arg-type]
        num_merges=size - 256,
        min_frequency=2,
        max_token_length=0,
        seed=0,
        progress=None,
    )
    tokens = list(BYTES_IN_ORDER)
    for left, right in pairs.tolist():
        tokens.append(tokens[left] + tokens[right])
    assert merged_bytes(pairs.tolist(), tokens) == merges_of_tokenizers(texts, pattern=name, size=size)


FEW_BYTES = [name for name, text in bundled_texts().items() if len(set(text.encode())) <= 128]


@pytest.mark.parametrize(
    "name", [*FEW_BYTES[:10], *(pytest.param(name, marks=pytest.mark.slow) for name in FEW_BYTES[10:])]
)
def test_merges_of_a_text_with_few_bytes_equal_those_of_tokenizers(kernel: Kernel, name: str) -> None:
    """Compare in the same way on both kernels: up to 128 bytes are renamed to ASCII characters, in their order."""
    text = bundled_texts()[name]
    used = [byte for byte in BYTES_IN_ORDER if byte in text.encode()]
    renamed = bytes.maketrans(b"".join(used), bytes(range(len(used))))
    pretokens = counted_by_definition([text])
    words = {pretoken.translate(renamed).decode("ascii"): count for pretoken, count in pretokens.items()}
    merges, _ = learn(kernel, counted_words(kernel, words), num_merges=2048 - 256, min_frequency=2)
    tokens = reference.vocabulary(merges)
    original = bytes.maketrans(bytes(range(len(used))), b"".join(used))
    found = [
        (left.translate(original), right.translate(original)) for left, right in merged_bytes(merges, tokens)
    ]
    assert found == merges_of_tokenizers([text], pattern="gpt4", size=2048)


def test_texts_with_few_bytes_exist_in_several_scripts() -> None:
    assert {"parallel/en.txt", "parallel/de.txt", "code/python.py"} <= set(FEW_BYTES)


# Recorded runs


@pytest.mark.real
def test_recorded_word_counts_give_the_recorded_merges(kernel: Kernel, shared: Path) -> None:
    paths = sorted((shared / "vectors/train").glob("*.json"))
    assert paths
    for path in paths:
        recorded = json.loads(path.read_text(encoding="utf-8"))
        expected = recorded["merges_hex_left_right_count"]
        counter = counted_words(kernel, Counter(recorded["word_counts"]))
        merges, _ = learn(kernel, counter, num_merges=len(expected))
        pieces = merged_bytes(merges, reference.vocabulary(merges))
        found = [
            [left.hex(), right.hex(), merge.count]
            for (left, right), merge in zip(pieces, merges, strict=True)
        ]
        assert found == expected
