"""The text of the first or last tokens: as long as possible, never too many tokens, and whole characters."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts import texts

import tokbench
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError, TextError


@pytest.fixture(scope="module", params=["bpe", "sentencepiece", "wordpiece", "byte"])
def tokenizer(request: pytest.FixtureRequest) -> Any:
    words = ["the lower widest newest é ü 東京 house of houses"] * 40
    return tokbench.train(
        words,
        backend=request.param,
        special_tokens=["<|end|>", "[UNK]"][: 1 + (request.param == "wordpiece")],
    )


@given(text=texts, most=st.integers(0, 12), side=st.sampled_from(["left", "right"]))
def test_truncated_text_is_a_prefix_or_suffix_within_the_limit(
    tokenizer: Any, text: str, most: int, side: Any
) -> None:
    truncated = tokenizer.truncate(text, most, side=side)
    assert text.startswith(truncated) if side == "right" else text.endswith(truncated)
    ids = tokenizer.encode(text)
    assert len(tokenizer.encode(truncated)) <= most
    if len(ids) <= most:
        assert truncated == text


def test_truncation_of_examples_worked_by_hand(tokenizer: Any) -> None:
    if tokenizer.info.backend != "byte":
        pytest.skip("worked out for bytes")
    assert tokenizer.truncate("aé", 2) == "a"
    assert tokenizer.truncate("éa", 2, side="left") == "a"
    assert tokenizer.truncate("é", 1) == tokenizer.truncate("abc", 0) == ""
    assert tokenizer.truncate("a<|end|>b", 2, special=SpecialPolicy.ENCODE) == "a<|end|>"
    assert tokenizer.truncate("", 5) == ""


def test_invalid_arguments_are_refused(tokenizer: Any) -> None:
    with pytest.raises(ConfigError, match="max_tokens is -1"):
        tokenizer.truncate("a", -1)
    with pytest.raises(ConfigError, match="no side"):
        tokenizer.truncate("a", 1, side="up")
    with pytest.raises(TextError, match="surrogate"):
        tokenizer.truncate("a\ud800", 1)


def test_part_of_a_word_with_more_tokens_is_truncated_further(tokenizer: Any) -> None:
    """The end of a word may be one token within it, but several on its own."""
    for text in ("lowest newest widest houses", "the widesting lowerest houseer", "xthe 1the .the"):
        for most in range(1, 8):
            for side in ("left", "right"):
                assert len(tokenizer.encode(tokenizer.truncate(text, most, side=side))) <= most
