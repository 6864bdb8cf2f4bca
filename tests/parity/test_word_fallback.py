"""Models of words in Python: the definition of the kernel's, and the fallback where there is no kernel."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.byte_level_documents import split
from support.huggingface import added, document, dump
from support.kernels import chosen
from support.native_documents import assert_same_results, both
from support.word_documents import WHITESPACE, documents_of_words, mixed_texts

import tokbench
from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.errors import ConfigError
from tokbench.opening.native_document import NativeDocument
from tokbench.opening.word_fallback.encoder import WordEncoder
from tokbench.opening.word_fallback.models import word_model

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.opening.word_vocabulary import WordVocabulary

given_texts = st.lists(mixed_texts, max_size=6)
NFC = {"type": "NFC"}
WORDS: dict[str, Any] = {
    "type": "BPE",
    "vocab": {"[UNK]": 0, "a": 1, "b": 2, "ab": 3, "é": 4},
    "merges": [["a", "b"]],
    "unk_token": "[UNK]",
}


@given(data=documents_of_words(), texts=given_texts)
def test_ids_and_spans_of_any_document_equal_the_librarys(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, texts: list[str]
) -> None:
    with chosen("python"):
        fallback, library = both(tmp_path_factory.mktemp("any"), data)
        if isinstance(fallback, NativeDocument):
            assert fallback.info.kernel == "python"
            assert_same_results(fallback, library, texts)


@pytest.mark.parametrize("kernel", ["python", "auto"])
@given(texts=st.lists(st.text("abé", max_size=9), max_size=6))
def test_lazy_repetition_matches_as_in_the_library(
    tmp_path_factory: pytest.TempPathFactory, kernel: str, texts: list[str]
) -> None:
    words = WORDS | {"vocab": {**WORDS["vocab"], "aa": 5}, "merges": [["a", "a"], ["a", "b"]]}
    data = dump(document(words, pre_tokenizer=split(r"a{1,2}?b|a+?|[^a]{1,3}?é")))
    with chosen(kernel):
        ours, library = both(tmp_path_factory.mktemp("lazy"), data)
        assert isinstance(ours, NativeDocument)
        assert_same_results(ours, library, texts)


@pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")
@given(data=documents_of_words(), texts=given_texts)
def test_kernel_equals_its_definition(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, texts: list[str]
) -> None:
    native, _ = both(tmp_path_factory.mktemp("any"), data)
    if not isinstance(native, NativeDocument) or native.info.kernel != "native":
        return
    plan = native._plan
    for specials, encoder, vocabulary in (
        (False, native._encoder, plan.vocabulary),
        (True, native._encoder_with_specials, plan.with_specials),
    ):
        model = word_model(cast("WordVocabulary", vocabulary))
        defined: Any = WordEncoder(model, splitting=plan.splitting, added=plan.added)
        for text in texts:  # includes texts that would be left to the library
            assert encoder.added_places(text.encode(), specials=specials) == defined.added_places(
                text.encode(), specials=specials
            )
            for flags in ({}, {"normalized": True}):
                if flags or not plan.normalization.begins_with_nfc:
                    found = encoder.encode(text, specials=specials, **flags)
                    assert found == defined.encode(text, specials=specials, **flags)
        placed: Any = encoder
        for ours, theirs in zip(
            placed.place_batch(texts, 2, normalized=True),
            defined.place_batch(texts, 2, normalized=True),
            strict=True,
        ):
            assert np.array_equal(ours, theirs)


def test_texts_are_encoded_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = [added("[UNK]", 0), added("<x>", 5, special=False, lstrip=True)]
    data = dump(document(WORDS, pre_tokenizer=WHITESPACE, normalizer=NFC, added_tokens=tokens))
    with chosen("python"):
        fallback, library = both(tmp_path, data)
        texts = ["ab a <x>e\u0301b", "", "[UNK] 字ab", "ab " * 99]
        assert_same_results(fallback, library, texts)
        monkeypatch.setattr(NativeDocument, "_library", None)
        assert [fallback.encode(text) for text in texts[:2]] == [[3, 1, 5, 4, 2], []]
        assert [tuple(token.span) for token in fallback.segment(texts[0]).tokens] == [
            (0, 2),
            (3, 4),
            (4, 8),
            (8, 9),
            (11, 12),
        ]


def test_fallback_needs_no_compiled_module(tmp_path: Path) -> None:
    data = dump(document(WORDS, pre_tokenizer=WHITESPACE, normalizer=NFC))
    path = tmp_path / "tokenizer.json"
    path.write_bytes(data)
    program = f"""
import sys
sys.modules["tokbench.native._bpe"] = None
import tokbench
made = tokbench.load({str(path)!r})
print(made.info.kernel, made.encode("ab e\\u0301"), [tuple(each.span) for each in made.segment("ab e\\u0301").tokens])
"""
    environment = {name: value for name, value in os.environ.items() if name != "TOKBENCH_KERNEL"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "python [3, 4] [(0, 2), (3, 4)]\n"


def test_unsupported_setting_is_named(tmp_path: Path) -> None:
    made = document(WORDS | {"dropout": 0.1}, pre_tokenizer=WHITESPACE)
    path = tmp_path / "tokenizer.json"
    path.write_bytes(dump(made))
    with chosen("python"), pytest.raises(ConfigError, match="at random"):
        tokbench.load(path, engine="native")
