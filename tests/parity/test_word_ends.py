"""Byte-level documents that mark the end of a word, like CLIP's, give the ids and spans of their library."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.byte_level_documents import BYTE_LEVEL, BYTES, CLIP_NORMALIZER, NORMALIZERS, SPLITTING, mixed
from support.huggingface import added, document, dump
from support.native_documents import assert_same_results, both

from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.opening.native_document import NativeDocument

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")


def clip_like(normalizer: dict[str, Any] | None = CLIP_NORMALIZER) -> bytes:
    ends = [f"{piece}</w>" for piece in BYTES]
    merges = [("t", "h"), ("th", "e</w>"), ("a", "b</w>"), ("1", "2</w>"), ("t", "he</w>"), ("h", "e</w>")]
    pieces = [*BYTES, *ends, *dict.fromkeys(left + right for left, right in merges), "<|end|>"]
    model = {
        "type": "BPE",
        "vocab": {piece: id for id, piece in enumerate(pieces)},
        "merges": [list(pair) for pair in merges],
        "end_of_word_suffix": "</w>",
        "unk_token": "<|end|>",
    }
    return dump(
        document(
            model,
            normalizer=normalizer,
            pre_tokenizer=SPLITTING["clip"],
            decoder=BYTE_LEVEL,
            added_tokens=[added("<|end|>", len(pieces) - 1)],
        )
    )


@given(
    given_texts=st.lists(
        mixed | st.sampled_from(["the", "THE<|end|>ab", "th the</w>", "12 the12"]), max_size=4
    ),
    normalizer=st.sampled_from(NORMALIZERS),
)
def test_documents_with_a_word_end_suffix_encode_as_in_the_library(
    tmp_path_factory: pytest.TempPathFactory, given_texts: list[str], normalizer: dict[str, Any] | None
) -> None:
    native, library = both(tmp_path_factory.mktemp("clip"), clip_like(normalizer))
    assert isinstance(native, NativeDocument)
    assert_same_results(native, library, given_texts)


@pytest.mark.parametrize(
    "text",
    [
        "the ab 12 THE\u00a0\n\n the " * 300,
        "the,ab;12the\u3000the\t\tab" * 300,
        "a b c " * 300,
        "\xff é e\u0301 İ ß\x85Σ " * 200,
    ],
    ids=["spaces", "few spaces", "single letters", "other letters"],
)
def test_long_texts_with_a_word_end_suffix_encode_as_in_the_library(tmp_path: Path, text: str) -> None:
    native, library = both(tmp_path, clip_like())
    assert isinstance(native, NativeDocument)
    assert_same_results(native, library, [text, text.upper(), text])


def test_vocabulary_with_a_letter_that_ends_no_word_encodes_as_in_the_library(tmp_path: Path) -> None:
    """Where a byte does not merge with the mark of the end, a text may have more ids than bytes on the kernel."""
    document = json.loads(clip_like())
    del document["model"]["vocab"]["q</w>"]
    native, library = both(tmp_path, dump(document))
    assert isinstance(native, NativeDocument)
    assert_same_results(native, library, ["the ab 12 " * 200, "aq q the " * 200, "a b c d e " * 200])
