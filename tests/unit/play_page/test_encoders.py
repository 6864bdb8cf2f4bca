"""Tests for the page's encoders: hand-made examples, and a comparison with the tokenizers on any text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.page_tokenizers import ranks, trained
from support.segmentations import HARD_TEXTS

from tokbench.core.tokens import SpecialPolicy
from tokbench.play_page.tokenizer_data import tokenizer_data

if TYPE_CHECKING:
    from support.page_engine import Engine

    from tokbench.opening.request import Opened

LETTERS = [chr(byte) for byte in range(256)]


@pytest.fixture(scope="module", params=["merges", "ranks", "nfc"])
def tokenizer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "ranks":
        return ranks(folder)
    pattern = "qwen2" if request.param == "nfc" else "gpt4o"
    return trained(folder / "saved", pattern=pattern, special_tokens=["<|end|>", "<|2|>"])


def by_hand(**fields: Any) -> str:
    """Return the data of a tokenizer with all bytes and the tokens ab, bc, abc and aa."""
    usual = {
        "name": "hand",
        "model": "byte_level",
        "tokens": [*LETTERS, "ab", "bc", "abc", "aa"],
        "merges": [97, 98, 98, 99, 256, 99, 97, 97],
        "whole_first": False,
        "nfc": False,
        "split": None,
        "special": [],
    }
    return json.dumps(usual | fields)


def test_lowest_rank_is_merged_first_and_ties_from_the_left(engine: Engine) -> None:
    data = by_hand()
    assert engine.call("encode", data, "abcaaab", "text")["ids"] == [258, 259, 256]
    assert engine.call("steps", data, "abc") == [
        ["its bytes", "a|b|c"],
        ["rank 0", "ab|c"],
        ["rank 2", "abc"],
    ]
    # By rank the order of merges is the same: ab (256), bc (257), aa (259). No longer token begins with bc.
    assert engine.call("encode", by_hand(merges=None), "xbcab", "text")["ids"] == [120, 257, 256]


def test_whole_token_needs_no_merges_if_the_vocabulary_says_so(engine: Engine) -> None:
    data = by_hand(merges=[], whole_first=True)
    assert engine.call("encode", data, "abc", "text")["ids"] == [258]
    assert engine.call("steps", data, "abc") == [["the whole word is a token: nothing is merged", "abc"]]
    assert engine.call("encode", by_hand(merges=[]), "abc", "text")["ids"] == [97, 98, 99]


def test_special_tokens_strip_white_space_by_their_flags(engine: Engine) -> None:
    data = by_hand(
        special=[
            ["<m>", 300, True, False, True],
            ["<m>>", 301, False, True, True],
            ["<", 302, False, False, True],
        ]
    )
    assert engine.call("encode", data, "a \n<m> b", "encode") == {
        "ids": [97, 300, 32, 98],
        "spans": [[0, 1], [1, 6], [6, 7], [7, 8]],
    }
    assert engine.call("encode", data, "<m>> \u3000<", "encode")["ids"] == [301, 302]
    assert engine.call("encode", data, "é<m>", "raise") == {
        "error": "the text has the special token <m> at byte 2"
    }
    assert engine.call("encode", data, "<m", "text")["ids"] == [60, 109]


@given(text=HARD_TEXTS)
def test_bytes_are_utf_8(engine: Engine, text: str) -> None:
    data = text.encode()
    assert engine.call("bytes", text) == [data.decode("latin-1"), len(data), text]


@given(
    text=st.one_of(HARD_TEXTS, st.text("the cat<|end> 1\n안e\u0301", max_size=30)),
    policy=st.sampled_from([SpecialPolicy.TEXT, SpecialPolicy.ENCODE]),
)
def test_ids_and_spans_equal_the_tokenizers(
    engine: Engine, tokenizer: Opened, text: str, policy: SpecialPolicy
) -> None:
    data = tokenizer_data(tokenizer, name="mine").to_json()
    encoded = engine.call("encode", data, text, policy.value)
    wanted = tokenizer.tokenizer.segment(text, special=policy)
    assert encoded["ids"] == wanted.ids
    if tokenizer.tokenizer.decode(wanted.ids) == text:
        assert encoded["spans"] == [list(token.span) for token in wanted.tokens]


@pytest.mark.parametrize("text", ["a" * 50_000, "the " * 20_000, " " * 30_000, "aab" * 9_000 + "안"])
def test_long_words_encode_in_linear_time(engine: Engine, tokenizer: Opened, text: str) -> None:
    data = tokenizer_data(tokenizer, name="mine").to_json()
    assert engine.call("encode", data, text, "text")["ids"] == tokenizer.tokenizer.encode(text)


def test_unpaired_surrogates_become_replacement_characters(engine: Engine) -> None:
    ids = engine.call("encode", by_hand(), "\ud83da", "text")["ids"]
    assert ids == [*"\ufffd".encode(), 97]
