"""A streaming decoder that knows where a turn ends, and which special tokens to leave out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts import texts

import tokbench
from tokbench import StreamingDecoder
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError, UnknownIdError


@pytest.fixture(scope="module", params=["bpe", "sentencepiece", "wordpiece", "byte"])
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return tokbench.train(["low lower é 東京 lowest"] * 30, backend=request.param, special_preset="chatml")


def streamed(decoder: StreamingDecoder, ids: list[int], sizes: list[int]) -> str:
    parts, start = [], 0
    for size in [*sizes, len(ids)]:
        parts.append(decoder.feed(ids[start : start + size]))
        start += size
    return "".join([*parts, decoder.finish()])


@given(
    before=texts,
    after=texts,
    end=st.sampled_from(["<|im_end|>", "<|endoftext|>"]),
    sizes=st.lists(st.integers(0, 4), max_size=6),
)
def test_text_after_the_stop_token_is_dropped(
    tokenizer: Any, before: str, after: str, end: str, sizes: list[int]
) -> None:
    specials = tokenizer.info.special_tokens
    first, last = tokenizer.encode(before), tokenizer.encode(after)
    decoder = StreamingDecoder(tokenizer, stop=("eos", "turn_end"))
    assert streamed(decoder, [*first, specials[end], *last], sizes) == tokenizer.decode(first)
    assert decoder.finished
    assert decoder.stop_id == specials[end]
    assert streamed(decoder, first, sizes) == tokenizer.decode(first)  # starts a new text
    assert not decoder.finished
    assert decoder.stop_id is None


@given(
    parts=st.lists(texts | st.sampled_from(["<|im_start|>", "<|im_end|>"]), max_size=6),
    sizes=st.lists(st.integers(0, 4)),
)
def test_special_tokens_can_be_skipped(tokenizer: Any, parts: list[str], sizes: list[int]) -> None:
    ids = tokenizer.encode("".join(parts), special=SpecialPolicy.ENCODE)
    specials = set(tokenizer.info.special_tokens.values())
    decoder = StreamingDecoder(tokenizer, skip_special=True)
    assert streamed(decoder, ids, sizes) == tokenizer.decode([id for id in ids if id not in specials])


def test_ids_and_roles_can_stop_decoding() -> None:
    tokenizer = tokbench.train([], backend="byte", special_preset="chatml")
    decoder = StreamingDecoder(tokenizer, stop=["turn_end", 33])
    assert [decoder.feed(id) for id in b"ab!c"] == ["a", "b", "", ""]
    assert decoder.stop_id == 33
    assert decoder.finish() == ""
    assert decoder.finished
    assert StreamingDecoder(tokenizer, stop="turn_end").feed([97, 258, 98]) == "a"


def test_incomplete_character_before_the_stop_is_held_back() -> None:
    tokenizer = tokbench.train([], backend="byte", special_preset="chatml")
    decoder = StreamingDecoder(tokenizer, stop=["turn_end"])
    assert decoder.feed([97, 0xC3, 258]) == "a"
    assert decoder.finish() == "\ufffd"


def test_position_of_an_unknown_id_counts_skipped_ids() -> None:
    tokenizer = tokbench.train([], backend="byte", special_preset="chatml")
    decoder = StreamingDecoder(tokenizer, skip_special=True)
    decoder.feed([97, 258, 98])
    with pytest.raises(UnknownIdError) as caught:
        decoder.feed([256, 99, 9999])
    assert caught.value.position == 5


def test_unknown_roles_are_refused() -> None:
    plain = tokbench.train([], backend="byte")
    with pytest.raises(ConfigError, match="there is no role 'end'"):
        StreamingDecoder(plain, stop=["end"])
    with pytest.raises(ConfigError, match="no token with the role eos or turn_end") as caught:
        StreamingDecoder(plain, stop=("eos", "turn_end"))
    assert "roles={'eos': TEXT}" in caught.value.hint
