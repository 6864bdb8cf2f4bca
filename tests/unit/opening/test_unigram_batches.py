"""Tests for the batches of a Unigram `tokenizer.json`, of which short ones do not build an encoder."""

from __future__ import annotations

import pytest
from support.byte_level_documents import sequence
from support.huggingface import document, dump
from support.word_documents import WHITESPACE_SPLIT, metaspace

from tokbench.native.kernel_choice import is_installed
from tokbench.opening import unigram_document
from tokbench.opening.unigram_document import UnigramDocument

pytestmark = pytest.mark.skipif(not is_installed(unigram_document.COMPILED), reason="not compiled")

DOCUMENT = document(
    {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["▁", -2.0], ["ab", -3.0], ["日", -4.0]]},
    pre_tokenizer=sequence(WHITESPACE_SPLIT, metaspace("always")),
)


@pytest.mark.parametrize("method", ["encode_batch", "count_batch", "encode_spans"])
def test_all_texts_of_a_long_batch_run_on_the_kernel(method: str) -> None:
    ours = UnigramDocument(dump(DOCUMENT), name="mine")
    getattr(ours, method)(["ab 日本"] * 10)
    assert "encoder" not in vars(ours)
    getattr(ours, method)(["ab 日本 " * 500] * 10)
    assert "encoder" in vars(ours)
    assert ours._missing == -3000  # built at the first text
