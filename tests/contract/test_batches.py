"""The contract of batches: ids, spans and counts equal those of the texts one by one, on any threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.subjects import sample_texts, texts_with_specials

from tokbench.core.capabilities import SupportsCounts
from tokbench.core.token_arrays import KIND_NUMBERS, encode_spans
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.tokens_in_arrays import segment_as_read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.core.interfaces import Tokenizer

# Ids


@pytest.mark.slow
@pytest.mark.parametrize("special", [SpecialPolicy.TEXT, SpecialPolicy.ENCODE])
def test_batch_equals_single_encoding_on_any_number_of_threads(
    tokenizer: Tokenizer, special: SpecialPolicy
) -> None:
    expected = [tokenizer.encode(text, special=special) for text in sample_texts()]
    for threads in (None, 1, 2, 7):
        encoded = tokenizer.encode_batch(sample_texts(), special=special, threads=threads)
        assert [ids.tolist() for ids in encoded] == expected
        assert encoded.ids.dtype == np.uint32
        assert encoded.offsets.dtype == np.int64
        assert encoded.counts.tolist() == [len(ids) for ids in expected]
        if isinstance(tokenizer, SupportsCounts):
            counts = tokenizer.count_batch(sample_texts(), special=special, threads=threads)
            assert counts.dtype == np.int64
            assert counts.tolist() == encoded.counts.tolist()


@given(batch=st.lists(texts_with_specials, max_size=4), threads=st.integers(1, 4))
def test_any_batch_equals_single_encoding(tokenizer: Tokenizer, batch: list[str], threads: int) -> None:
    encoded = tokenizer.encode_batch(batch, threads=threads)
    assert len(encoded) == len(batch)
    assert [ids.tolist() for ids in encoded] == [tokenizer.encode(text) for text in batch]
    if isinstance(tokenizer, SupportsCounts):
        assert tokenizer.count_batch(batch, threads=threads).tolist() == encoded.counts.tolist()
    for ids, text in zip(encoded, batch, strict=True):
        assert tokenizer.decode(ids) == tokenizer.decode(tokenizer.encode(text))  # type: ignore[arg-type]


def test_batch_may_be_empty(tokenizer: Tokenizer) -> None:
    for batch, offsets in ([], [0]), ([""], [0, 0]), (["", ""], [0, 0, 0]):
        encoded = tokenizer.encode_batch(batch)
        assert encoded.ids.tolist() == []
        assert encoded.offsets.tolist() == offsets
        if isinstance(tokenizer, SupportsCounts):
            assert tokenizer.count_batch(batch).tolist() == [0] * len(batch)


# Spans


def assert_same_as_segmentations(tokenizer: Tokenizer, batch: Sequence[str], *, threads: int | None) -> None:
    spans = encode_spans(tokenizer, batch, threads=threads)
    segmentations = [tokenizer.segment(text).tokens for text in batch]
    assert [ids.tolist() for ids in spans.encoded] == [
        [token.id for token in segmentation] for segmentation in segmentations
    ]
    tokens = [token for segmentation in segmentations for token in segmentation]
    assert spans.starts.tolist() == [token.span.start for token in tokens]
    assert spans.stops.tolist() == [token.span.stop for token in tokens]
    assert spans.kinds.tolist() == [KIND_NUMBERS[token.kind] for token in tokens]
    assert [segment_as_read(tokenizer, text, long=0).tokens for text in batch] == segmentations


@pytest.mark.parametrize("threads", [2, pytest.param(None, marks=pytest.mark.slow)])
def test_spans_equal_the_segmentations(tokenizer: Tokenizer, threads: int | None) -> None:
    assert_same_as_segmentations(tokenizer, sample_texts(), threads=threads)


@given(batch=st.lists(texts_with_specials, max_size=4), threads=st.sampled_from([None, 2]))
def test_spans_of_any_batch_equal_the_segmentations(
    tokenizer: Tokenizer, batch: list[str], threads: int | None
) -> None:
    assert_same_as_segmentations(tokenizer, batch, threads=threads)


# Threads


@pytest.mark.slow
def test_threads_may_share_a_tokenizer(tokenizer: Tokenizer) -> None:
    expected = [tokenizer.segment(text, special=SpecialPolicy.ENCODE).tokens for text in sample_texts()]
    with ThreadPoolExecutor(8) as pool:
        tasks = [
            pool.submit(tokenizer.segment, text, special=SpecialPolicy.ENCODE) for text in sample_texts()
        ]
        assert [task.result().tokens for task in tasks] == expected
