"""Byte-level documents that compose text by NFC run on tokbench's kernel, with the ids and spans of their library."""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING

import pytest
from support.byte_level_documents import BYTE_LEVEL, normalizers, with_parts
from support.huggingface import added, dump
from support.native_documents import assert_same_results, both

from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.opening.native_document import NativeDocument

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not has_native_kernel(), reason="the native kernel is not installed")


def test_texts_changed_by_nfc_run_on_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = json.loads(with_parts(BYTE_LEVEL, {"type": "NFC"}))
    token = added("<s>", len(document["model"]["vocab"]), special=False, normalized=False)
    native, library = both(tmp_path, dump(document | {"added_tokens": [token]}))
    assert isinstance(native, NativeDocument)
    decomposed = unicodedata.normalize("NFD", "Việt Nam, žluťoučký, 각하, काज़, ভালো ")
    given_texts = [
        "cafe\u0301",
        "မြန်မာ\u103a\u1037",
        decomposed,
        "e\u0301\u0323 low\n" * 30_000,
        "\u0301<s>\u0301",
    ]
    expected = [library.encode(text) for text in given_texts]
    monkeypatch.setattr(NativeDocument, "_library", None)
    assert [ids.tolist() for ids in native.encode_batch(given_texts, threads=2)] == expected
    assert [native.encode(text) for text in given_texts] == expected
    assert native.count_batch(given_texts, threads=2).tolist() == list(map(len, expected))


@pytest.mark.parametrize(
    "text",
    [
        "E\u0301",
        "E\u0323\u0302",
        "\u0391\u0301 \u03a3",
        "\u212b \u2126 K",
        "\u1100\u1161\u11a8",
        "\u0130 I\u0307",
        "\u0915\u093c \u0958",
        "<s>E\u0301<s>\u0301E",
        "\u0301",
    ],
    ids=lambda text: text.encode("unicode_escape").decode(),
)
def test_characters_that_nfc_composes_are_changed_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Each text is the first one, so that the kernel's table has no character of another."""
    document = json.loads(with_parts(BYTE_LEVEL, normalizers({"type": "NFC"}, {"type": "Lowercase"})))
    token = added("<s>", len(document["model"]["vocab"]), special=False, normalized=False)
    native, library = both(tmp_path, dump(document | {"added_tokens": [token]}))
    expected = library.encode(text)
    monkeypatch.setattr(NativeDocument, "_library", None)
    assert native.encode(text) == expected
    assert [ids.tolist() for ids in native.encode_batch([text, text], threads=2)] == [expected, expected]
    assert native.count_batch([text], threads=2).tolist() == [len(expected)]


@pytest.mark.parametrize("has_token", [False, True])
def test_spans_in_composed_text_equal_the_librarys(tmp_path: Path, has_token: bool) -> None:
    """The mark that NFC joins to a letter is in no token, with and without an added token."""
    document = json.loads(with_parts(BYTE_LEVEL, {"type": "NFC"}))
    token = added("<s>", len(document["model"]["vocab"]), special=False, normalized=False)
    native, library = both(tmp_path, dump(document | {"added_tokens": [token] if has_token else []}))
    assert isinstance(native, NativeDocument) is has_token
    assert_same_results(native, library, ["xe\u0301 y", "e\u0301\u0301", "\u0301 the", "\u00e9"])
    assert 4 not in {token.span.stop for token in native.segment("xe\u0301 y").tokens}


def test_single_word_tokens_are_searched_in_normalized_text(tmp_path: Path) -> None:
    """The library takes a mark beside a token for part of a word, which the kernel does not; the ids must agree."""
    document = json.loads(with_parts(BYTE_LEVEL, {"type": "NFC"}))
    size = len(document["model"]["vocab"])
    words = [
        added(text, size + number, special=False, normalized=True) | {"single_word": True}
        for number, text in enumerate(("й", "е\u0308"))
    ]
    native, library = both(tmp_path, dump(document | {"added_tokens": words}))
    assert isinstance(native, NativeDocument)
    given_texts = ["и\u0306\u05b0", "и\u0306 ", "\u05b0и\u0306", "ё\u05b0", "е\u0308\u05b0", "е\u0308 й"]
    assert_same_results(native, library, given_texts)
    assert native.encode("и\u0306 ")[0] == size


def test_special_tokens_are_excluded_from_merges_in_nfc_documents(tmp_path: Path) -> None:
    document = json.loads(with_parts(BYTE_LEVEL, {"type": "NFC"}))
    document["added_tokens"] = [added("the", document["model"]["vocab"]["the"])]
    native, library = both(tmp_path, dump(document))
    assert native.info.kernel == "native"
    assert_same_results(native, library, ["the low", "e\u0301the\u0301"])
