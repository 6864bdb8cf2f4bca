"""A kernel encodes pre-tokens of any length like the textbook, and decodes what it encoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernels import learned
from support.texts import corpora, long_words, texts, words

from tokbench.backends.bpe import reference
from tokbench.backends.bpe.split_patterns import PATTERN_NAMES, resolve_pattern, split

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokbench.backends.bpe.kernel import Encoder, Kernel
    from tokbench.backends.bpe.reference import Merge


def pairs_of(merges: Iterable[Merge]) -> dict[reference.Pair, int]:
    return {(left, right): 256 + number for number, (left, right, _) in enumerate(merges)}


def encoder_of(kernel: Kernel, merges: Sequence[Merge], pattern: str | None = None) -> Encoder:
    rows = np.array([merge[:2] for merge in merges], dtype=np.uint32).reshape(-1, 2)
    return kernel.encoder_from_merges(rows, pattern)


@given(corpus=corpora, word=words | long_words | texts)
def test_merging_a_pretoken_equals_the_reference(kernel: Kernel, corpus: dict[str, int], word: str) -> None:
    merges = learned(kernel, corpus)
    encoder = encoder_of(kernel, merges)
    assert encoder.encode(word) == reference.encode(word.encode(), pairs_of(merges))


@pytest.mark.parametrize("name", PATTERN_NAMES)
@given(corpus=corpora, text=texts)
def test_each_pretoken_is_encoded_separately(
    kernel: Kernel, name: str, corpus: dict[str, int], text: str
) -> None:
    merges = learned(kernel, corpus)
    pretokens = split(resolve_pattern(name), text)
    expected = [id for pretoken in pretokens for id in reference.encode(pretoken.encode(), pairs_of(merges))]
    assert encoder_of(kernel, merges, name).encode(text) == expected


@given(corpus=corpora, parts=st.lists(words | texts.filter(bool), max_size=5))
def test_presplit_text_is_encoded_part_by_part(
    kernel: Kernel, corpus: dict[str, int], parts: list[str]
) -> None:
    merges = learned(kernel, corpus)
    ends = np.cumsum([len(part.encode()) for part in parts], dtype=int).tolist()
    expected = [id for part in parts for id in reference.encode(part.encode(), pairs_of(merges))]
    assert encoder_of(kernel, merges).encode_split("".join(parts), ends).tolist() == expected


@pytest.mark.parametrize("ends", [[], [2], [1, 1, 3], [2, 1, 3], [3, 4], [0, 3], [3, 3], [1, 2, 2]])
def test_invalid_split_offsets_are_refused(kernel: Kernel, ends: list[int]) -> None:
    with pytest.raises(ValueError, match="pre-tokens"):
        encoder_of(kernel, []).encode_split("abc", ends)


@pytest.mark.parametrize("size", [1, 2, 8, 9, 15, 16, 17, 60, 61, 92, 100, 255, 256, 257])
@pytest.mark.parametrize("letters", ["a", "ab", "aab", "abcab"])
def test_pretokens_of_any_length_encode_as_in_the_reference(kernel: Kernel, letters: str, size: int) -> None:
    merges = learned(kernel, {letters * 40: 1, "ba" * 20: 2, "a" * 33: 1})
    word = (letters * 300)[:size]
    encoder = encoder_of(kernel, merges, "gpt4")
    expected = reference.encode(word.encode(), pairs_of(merges))
    for _ in range(2):  # the second time from the cache
        assert encoder.encode(word) == expected
        assert encoder.encode(f"1{word}") == [ord("1"), *expected]  # not at the beginning of the text


def test_many_different_words_encode_as_in_the_reference(kernel: Kernel) -> None:
    merges = learned(kernel, {"abcabcab": 3, "bcd": 2, "ddcc": 2})
    encoder, pairs = encoder_of(kernel, merges, "gpt4"), pairs_of(merges)
    words = [
        "".join("abcd"[number >> shift & 3] for shift in range(0, 16, 2)) for number in range(0, 1 << 16, 7)
    ]
    for word in [*words, *words[:500]]:
        assert encoder.encode(word) == reference.encode(word.encode(), pairs)


@given(merges=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=6))
def test_merges_of_later_ids_are_refused(kernel: Kernel, merges: list[tuple[int, int]]) -> None:
    rows = np.array(merges, dtype=np.uint32).reshape(-1, 2)
    wrong = [number for number, pair in enumerate(merges) if max(pair) >= 256 + number]
    if wrong:
        with pytest.raises(ValueError, match=rf"^merge {wrong[0]} refers to an id that is not made yet$"):
            kernel.encoder_from_merges(rows, None)
    else:
        assert kernel.encoder_from_merges(rows, None).tokens() == reference.vocabulary(merges)


@given(data=st.binary(max_size=40))
def test_encoded_text_decodes_to_itself(kernel: Kernel, data: bytes) -> None:
    encoder = encoder_of(kernel, learned(kernel, {"abab": 2, "é日": 2}))
    assert len(encoder) == len(encoder.tokens())
    decoder = kernel.decoder(encoder.tokens())
    assert decoder.decode(np.frombuffer(data, np.uint8).astype(np.uint32)) == data
    text = data.decode(errors="replace")
    assert decoder.decode(np.array(encoder.encode(text), dtype=np.uint32)) == text.encode()


def test_many_ids_are_decoded_on_threads_as_on_one(native: Kernel) -> None:
    entries = [bytes([value % 256]) * (1 + value % 40) for value in range(300)]
    decoder = native.decoder(entries)
    ids = np.random.default_rng(1).integers(0, len(entries), 500_000, np.uint32)
    expected = b"".join(entries[id] for id in ids.tolist())
    assert decoder.decode(ids) == decoder.decode(ids, 4) == expected
    ids[400_000:] = len(entries)
    with pytest.raises(ValueError, match=r"^id 300 at position 400000 is not"):
        decoder.decode(ids, 4)


@pytest.mark.parametrize("unknown", [1, 256, 2**32 - 1])
def test_unknown_id_is_refused(kernel: Kernel, unknown: int) -> None:
    decoder = kernel.decoder([b"a", b"", *[b"c"] * 254])
    with pytest.raises(ValueError, match=rf"^id {unknown} at position 1 is not in the vocabulary$"):
        decoder.decode(np.array([0, unknown, unknown], dtype=np.uint32))


def test_invalid_utf8_is_encoded_unchanged_by_the_native_kernel(native: Kernel) -> None:
    encoder: Any = encoder_of(native, learned(native, {"abab": 2}), "gpt4")
    for data in (b"abab\xff\xfeab\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80abab" * 20):
        ids = np.array(encoder.encode_bytes(data), dtype=np.uint32)
        assert native.decoder(encoder.tokens()).decode(ids) == data
