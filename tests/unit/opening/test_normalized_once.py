"""Tests that a batch's texts are normalized once, although coverage depends on the normalized texts, too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support import huggingface, small_files
from support.byte_level_documents import ONLY_BYTES, normalizers, with_parts

from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.opening.text_normalization import TextNormalization

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")

STEPS = normalizers({"type": "NFKC"}, {"type": "Lowercase"})
TEXTS = ["Ａb ﬁ" * 4000, "ÉCOLE ①" * 4000, "a" * 20000]


def _byte_level() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(with_parts(ONLY_BYTES, STEPS))
    return document


def _with(document: bytes) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(document)
    return fields | {"normalizer": STEPS}


@pytest.mark.parametrize(
    "document",
    [_byte_level, lambda: _with(huggingface.unigram()), lambda: _with(huggingface.byte_fallback())],
    ids=["byte-level BPE", "Unigram", "BPE over characters"],
)
def test_each_text_of_a_batch_is_normalized_once(
    document: Callable[[], dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = small_files.document_file(tmp_path, document())
    tokenizer, library = (
        small_files.opened(file, engine=engine).tokenizer for engine in ("native", "library")
    )
    expected = library.encode_batch(TEXTS)
    tokenizer.encode_batch(TEXTS)  # enough text for an encoder
    normalized: list[str] = []
    normalize = TextNormalization.__call__
    monkeypatch.setattr(
        TextNormalization, "__call__", lambda self, text: normalized.append(text) or normalize(self, text)
    )
    encoded = tokenizer.encode_batch(TEXTS)
    assert encoded.ids.tolist() == expected.ids.tolist()
    assert normalized == TEXTS
    assert tokenizer.count_batch(TEXTS).tolist() == expected.counts.tolist()
    assert normalized == TEXTS * 2
