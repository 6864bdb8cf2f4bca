"""The pre-tokenizers of a `tokenizer.json`, in steps, split on our kernel as the library does."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from support.byte_level_documents import SPLITTING, with_parts
from support.texts import characters_of_all_kinds, texts

from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.formats.tokenizer_json import from_byte_level
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.opening.kernel_document import kernel_document
from tokbench.opening.native_document import NativeDocument

pytestmark = pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")

ENDS_OF_RANGES = "\u07ff\u0800\u4dff\u4e00\u9fa5\u9fa6\uabff\uac00\ud7ff\ue000"
"""Characters beside the ends of ranges in the patterns."""


@cache
def splitters(name: str) -> tuple[NativeDocument, Any]:
    data = with_parts(SPLITTING[name], None)
    library = HuggingFaceTokenizer(data, name=name, backend="bpe")
    plan = kernel_document(json.loads(data), ids=library.spelled_ids, path=name)
    return NativeDocument(library, plan=plan), library._engines.plain.pre_tokenizer


def assert_split_alike(name: str, text: str) -> None:
    native, pre_tokenizer = splitters(name)
    if native._covers(text):
        expected = [from_byte_level(piece) for piece, _ in pre_tokenizer.pre_tokenize_str(text)]
        assert native._encoder.pretokens(text.encode()) == expected


@pytest.mark.parametrize("name", SPLITTING)
@given(text=texts)
def test_steps_split_as_the_library_does(name: str, text: str) -> None:
    assert_split_alike(name, text)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["falcon", "deepseek-v3", "tekken", "bloom"])
def test_steps_split_characters_of_all_kinds_as_the_library_does(name: str) -> None:
    native, pre_tokenizer = splitters(name)
    characters = characters_of_all_kinds() + ENDS_OF_RANGES
    covered = [character for character in characters if native._covers(character)]
    assert len(covered) > 35_000
    for start in range(0, len(covered), 1 << 14):
        text = "".join(f"a{one} {one}1 '{one}\n" for one in covered[start : start + (1 << 14)])
        # The pre-tokens cover the text, and the library spells each byte as a character: lengths say all.
        expected = [len(piece) for piece, _ in pre_tokenizer.pre_tokenize_str(text)]
        assert list(map(len, native._encoder.pretokens(text.encode()))) == expected


def test_a_run_that_could_be_tried_again_and_again_takes_linear_time() -> None:
    native, _ = splitters("deepseek-v3")
    for text in (" " * 300_000, "\n " * 150_000, "a" * 300_000, "!" * 300_000):
        assert sum(map(len, native._encoder.pretokens(text.encode()))) == len(text)
