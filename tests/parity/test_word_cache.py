"""A tokenizer whose texts are cut into words gives what its library gives for the whole texts, for every text."""

from __future__ import annotations

import re
from functools import cache
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import huggingface
from support.places import SHARED
from support.subjects import Subject
from support.texts import bundled_texts, texts

import tokbench
from tokbench.core.encoded import Encoded
from tokbench.errors import TextError
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.libraries.word_cache import joined_words
from tokbench.libraries.word_cache.cut_points import CUTS, document_cut
from tokbench.libraries.word_cache.joined_words import Lines

if TYPE_CHECKING:
    from tokbench.core.encoded import EncodedSpans

REAL = ["bert-base-uncased", "baai-bge-small-en"]

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
def tokenizer_named(name: str) -> HuggingFaceTokenizer:
    if name in REAL and not (SHARED / "vocab" / name).exists():
        pytest.skip(f"{name} is not at {SHARED}")
    if name in REAL:
        made = tokbench.load(SHARED / "vocab" / name, engine="library")
        assert isinstance(made, HuggingFaceTokenizer)
        return made
    trained = Subject("wordpiece", options=WORDPIECE[name]).train()
    assert isinstance(trained, HuggingFaceTokenizer)
    return HuggingFaceTokenizer(trained.document, name=name, backend="wordpiece")


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
NAMES = [
    "wordpiece",
    *(pytest.param(name, marks=pytest.mark.slow) for name in WORDPIECE if name != "wordpiece"),
    *(pytest.param(name, marks=pytest.mark.real) for name in REAL),
]


def remembered(name: str, given_texts: list[str]) -> EncodedSpans:
    """As for long texts, though these be short."""
    tokenizer = tokenizer_named(name)
    cache = tokenizer._word_cache
    assert cache is not None
    return cache.encode_spans(given_texts)


def by_the_library(name: str, given_texts: list[str]) -> EncodedSpans:
    return tokenizer_named(name)._library_spans(given_texts)


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
    cache, asked = tokenizer._word_cache, []
    assert cache is not None
    with pytest.MonkeyPatch.context() as patched:
        number = cache._numbering.number
        spy = SimpleNamespace(
            number=lambda given: asked.append(given) or number(given), clear=cache._numbering.clear
        )
        patched.setattr(cache, "_numbering", spy)
        encoded = tokenizer.encode_batch([text])
        spans = tokenizer.encode_spans([text])
    assert len(asked) == 2
    assert encoded.ids.tolist() == spans.encoded.ids.tolist() == tokenizer.encode(text)


@pytest.mark.parametrize("name", NAMES)
@given(given_texts=st.lists(woven, max_size=5), characters=st.integers(1, 30))
def test_words_side_by_side_are_what_they_are_alone(
    name: str, given_texts: list[str], characters: int
) -> None:
    tokenizer = tokenizer_named(name)
    cut = document_cut(tokenizer._parsed)
    assert cut is not None
    parts = dict.fromkeys(chain.from_iterable(re.findall(CUTS[cut], text) for text in given_texts))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(joined_words.groups_of, "__kwdefaults__", {"characters": characters})
        expected = tokenizer._library_spans(list(parts)).encoded
        patched.setattr(tokenizer, "_library_spans", None)  # never one by one
        found = tokenizer._word_spans(list(parts)).encoded
    assert found.ids.tolist() == expected.ids.tolist()
    assert found.offsets.tolist() == expected.offsets.tolist()


def test_where_the_parts_cannot_be_told_each_is_encoded_alone() -> None:
    tokenizer = tokenizer_named("wordpiece")
    backwards = Encoded(ids=np.array([1, 2], np.uint32), offsets=np.array([0, 2]))
    assert Lines(["a", "b"]).apart(backwards, np.array([[2, 3], [0, 1]])) is None
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Lines, "apart", lambda *_: None)
        found = tokenizer._word_spans(["the", " cat"]).encoded
    expected = tokenizer._library_spans(["the", " cat"]).encoded
    assert (found.ids.tolist(), found.offsets.tolist()) == (expected.ids.tolist(), expected.offsets.tolist())


def test_a_surrogate_stands_where_it_stands_in_the_text() -> None:
    with pytest.raises(TextError, match=r"U\+D800, at character 20000:"):
        tokenizer_named("wordpiece").encode_batch(["ab" * 10_000 + "\ud800"])


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    "text", ["", " ", "a", " a", "a ", "a  b ", " \u2581x \u2581", "\n\n a, b.c\n", "…a\t b"]
)
def test_words_are_the_text(cut: str, text: str) -> None:
    parts = re.findall(CUTS[cut], text)
    assert "".join(parts) == text
    assert all(parts)


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
    assert document_cut(parsed) == "words"
    assert document_cut({**parsed, "pre_tokenizer": {"type": "WhitespaceSplit"}}) == "white space"
    assert re.findall(CUTS["white space"], "a.b c\n") == ["a.b", " c", "\n"]
    assert re.findall(CUTS["words"], "a.b c\n") == ["a", ".", "b", " c", "\n"]
