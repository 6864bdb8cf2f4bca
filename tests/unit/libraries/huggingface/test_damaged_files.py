"""Tests for tokenizer.json files that are damaged, which are refused by name."""

from __future__ import annotations

import pytest
from support.huggingface import document, dump

from tokbench.errors import ModelFormatError
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "JSON"),
        (b"\x80\x04\x95", "JSON"),
        (b"[]", "an object with a model"),
        (b"{}", "an object with a model"),
        (b'{"model":' * 2000, "JSON"),
        (b'{"model": {"type": "Magic"}}', "accepts"),
        (dump(document({"type": "BPE", "vocab": {}, "merges": []})), "a vocabulary"),
        (dump(document({"type": "BPE", "vocab": {"a": 2**31}, "merges": []})), "ids below"),
        (dump(document({"type": "BPE", "vocab": {"a": -1}, "merges": []})), "accepts"),
        (dump(document({"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "b"]]})), "accepts"),
        (dump(document({"type": "BPE", "vocab": {"a": 0}, "merges": [], "byte_fallback": "x"})), "accepts"),
        (dump(document({"type": "Unigram", "vocab": [["a", -1.0]], "unk_id": 7})), "accepts"),
        (dump(document({"type": "Unigram", "vocab": [["a"]], "unk_id": 0})), "accepts"),
        (dump(document({"type": "Unigram", "vocab": [3], "unk_id": 0})), "accepts"),
        (
            dump(document({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}, added_tokens=[{}])),
            "added",
        ),
        (dump(document({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}, decoder=[])), "decoder"),
    ],
    ids=lambda value: None,
)
def test_damaged_file_is_refused_by_name(data: bytes, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message) as caught:
        HuggingFaceTokenizer(data, name="mine", backend="huggingface", source="some/tokenizer.json")
    assert str(caught.value).startswith("some/tokenizer.json: expected ")
