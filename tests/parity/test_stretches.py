"""A tokenizer whose texts are cut into stretches gives what its library gives for the whole texts, for every text."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import huggingface
from support.places import SHARED
from support.sentencepiece_models import VARIANTS, variant
from support.subjects import Subject
from support.texts import bundled_texts, texts

import tokbench
from tokbench.adapters.cutting import document_cut, model_cut
from tokbench.adapters.huggingface import HuggingFaceTokenizer
from tokbench.adapters.sentencepiece import SentencePieceTokenizer
from tokbench.errors import TextError

if TYPE_CHECKING:
    from tokbench.interfaces import EncodedSpans

CUT = {"bpe", "bpe as llama", "bpe without prefix"}
"""The SentencePiece models of VARIANTS that are cut."""
REAL = ["bert-base-uncased", "baai-bge-small-en", "mistral/tokenizer.model.v1"]

# What could tie two words together, if anything did: spaces of every kind, marks that compose, punctuation.
_FRAGMENTS = [
    " ",
    "  ",
    "\n",
    "\t",
    "\u00a0",
    "\u2581",
    "\u0301",
    "\u0345",
    "\u3000",
    "\u200d",
    "Σ",
    "ς",
    "İ",
    "ﬁ",
]
_FRAGMENTS += [
    "don't",
    "a.b",
    "_x_",
    "1,000",
    "東京",
    "é",
    "e",
    "the",
    "안녕",
    "\u1100\u1161",
    "[UNK]",
    "##",
    "<0x41>",
    "\0",
]
woven = st.lists(st.sampled_from(_FRAGMENTS) | texts, max_size=20).map("".join)


@cache
def tokenizer_named(name: str) -> SentencePieceTokenizer | HuggingFaceTokenizer:
    if name in VARIANTS:
        return variant(name)
    if name in REAL and not (SHARED / "vocab" / name).exists():
        pytest.skip(f"{name} is not at {SHARED}")
    made = (
        tokbench.load(SHARED / "vocab" / name)
        if name in REAL
        else Subject("wordpiece", options=WORDPIECE[name]).train()
    )
    assert isinstance(made, SentencePieceTokenizer | HuggingFaceTokenizer)
    return made


WORDPIECE = {
    "wordpiece": {"limit_alphabet": 200},
    "wordpiece cased": {
        "limit_alphabet": 200,
        "lowercase": False,
        "strip_accents": False,
        "clean_text": False,
    },
    "wordpiece of likelihood": {
        "limit_alphabet": 200,
        "objective": "likelihood",
        "handle_chinese_chars": False,
    },
}
NAMES = [*sorted(CUT), *WORDPIECE, *(pytest.param(name, marks=pytest.mark.real) for name in REAL)]


def remembered(name: str, given_texts: list[str]) -> EncodedSpans:
    """As for long texts, though these be short."""
    tokenizer = tokenizer_named(name)
    memo = tokenizer._memo
    assert memo is not None
    if isinstance(tokenizer, HuggingFaceTokenizer):
        return memo.encode_spans(given_texts)
    prefix = tokenizer._prefix
    encoded = memo.encode_batch([prefix + text if text else text for text in given_texts])
    return tokenizer._span_finder.find(given_texts, encoded, threads=1)


def by_the_library(name: str, given_texts: list[str]) -> EncodedSpans:
    tokenizer = tokenizer_named(name)
    if isinstance(tokenizer, HuggingFaceTokenizer):
        return tokenizer._library_spans(given_texts)
    encoded = tokenizer._library_batch(given_texts)
    return tokenizer._span_finder.find(given_texts, encoded, threads=1)


def assert_same(name: str, given_texts: list[str]) -> None:
    found, expected = remembered(name, given_texts), by_the_library(name, given_texts)
    assert found.encoded.ids.tolist() == expected.encoded.ids.tolist()
    assert found.encoded.offsets.tolist() == expected.encoded.offsets.tolist()
    for places in ("starts", "stops", "kinds"):
        assert np.array_equal(getattr(found, places), getattr(expected, places)), places


@pytest.mark.parametrize("name", NAMES)
@given(given_texts=st.lists(woven, max_size=5))
def test_any_texts(name: str, given_texts: list[str]) -> None:
    assert_same(name, given_texts)


@pytest.mark.parametrize("name", NAMES)
def test_every_bundled_text(name: str) -> None:
    assert_same(name, list(bundled_texts().values()))


@pytest.mark.parametrize("name", NAMES)
def test_long_texts_go_this_way(name: str) -> None:
    tokenizer = tokenizer_named(name)
    text = bundled_texts()["parallel/en.txt"] * 3
    memo, asked = tokenizer._memo, []
    assert memo is not None
    with pytest.MonkeyPatch.context() as patched:
        encode = memo.encode_spans
        patched.setattr(
            memo, "encode_spans", lambda given, **options: asked.append(given) or encode(given, **options)
        )
        encoded = tokenizer.encode_batch([text])
        spans = tokenizer.encode_spans([text])
    assert len(asked) == 2
    assert encoded.ids.tolist() == spans.encoded.ids.tolist() == tokenizer.encode(text)


@pytest.mark.parametrize("name", ["bpe", "wordpiece"])
def test_a_surrogate_stands_where_it_stands_in_the_text(name: str) -> None:
    with pytest.raises(TextError, match=r"U\+D800, at character 20000:"):
        tokenizer_named(name).encode_batch(["ab" * 10_000 + "\ud800"])


@pytest.mark.parametrize("name", VARIANTS)
def test_which_models_are_cut(name: str) -> None:
    assert (model_cut(variant(name).model) is not None) == (name in CUT)


@pytest.mark.parametrize(
    "text", ["", " ", "a", " a", "a ", "a  b ", " \u2581x \u2581", "\n\n a, b.c\n", "…a\t b"]
)
def test_stretches_are_the_text(text: str) -> None:
    cuts = [model_cut(variant("bpe").model), document_cut(tokenizer_named("wordpiece")._parsed)]
    for cut in cuts:
        assert cut is not None
        assert "".join(cut(text)) == text
        assert all(cut(text))


def test_what_could_reach_across_is_not_cut() -> None:
    parsed = tokenizer_named("wordpiece")._parsed
    added = huggingface.added("a b", 7, special=False)
    for change in (
        {"added_tokens": [added]},
        {"normalizer": {"type": "NFC"}},
        {"pre_tokenizer": None},
        {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}},
        {"model": {"type": "Unigram", "vocab": []}},
    ):
        assert document_cut({**parsed, **change}) is None
    at_white_space = document_cut({**parsed, "pre_tokenizer": {"type": "WhitespaceSplit"}})
    assert at_white_space is not None
    assert at_white_space("a.b c\n") == ["a.b", " c", "\n"]
