"""Streaming decoders of every backend: ids fed in pieces decode to the whole text; output ends between characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.subjects import texts_with_specials

from tokbench import StreamingDecoder
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import DecodeError, UnknownIdError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.core.interfaces import Tokenizer


def pieces(ids: Sequence[int], sizes: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield the ids in pieces of these sizes, then the rest."""
    start = 0
    for size in sizes:
        yield ids[start : start + size]
        start += size
    yield ids[start:]


def streamed(tokenizer: Tokenizer, parts: Iterator[Sequence[int]], errors: str = "replace") -> str:
    decoder = StreamingDecoder(tokenizer, errors=errors)
    return "".join([*map(decoder.feed, parts), decoder.finish()])


def known_ids(tokenizer: Tokenizer) -> list[int]:
    ids = []
    for id in range(tokenizer.info.vocab_size):
        try:
            tokenizer.token_bytes(id)
        except UnknownIdError:
            continue
        ids.append(id)
    return ids


@given(text=texts_with_specials, sizes=st.lists(st.integers(0, 5), max_size=8))
def test_streaming_equals_decoding_at_once(tokenizer: Tokenizer, text: str, sizes: list[int]) -> None:
    ids = tokenizer.encode(text, special=SpecialPolicy.ENCODE)
    assert streamed(tokenizer, pieces(ids, sizes)) == tokenizer.decode(ids)
    assert streamed(tokenizer, ([id] for id in ids)) == tokenizer.decode(ids)


@given(data=st.data())
def test_streaming_any_ids_equals_decoding_at_once(tokenizer: Tokenizer, data: st.DataObject) -> None:
    """Includes ids that no text has, such as parts of characters, and many special tokens and spaces."""
    specials = list(tokenizer.info.special_tokens.values())
    spaces = [id for id in map(tokenizer.token_id, (b" ", b"  ", "é".encode()[:1], b"a")) if id is not None]
    anything = st.sampled_from(known_ids(tokenizer))
    some = st.one_of(anything, *(st.sampled_from(ids) for ids in (specials, spaces) if ids))
    ids = data.draw(st.lists(some, max_size=12))
    sizes = data.draw(st.lists(st.integers(0, 4), max_size=6))
    assert streamed(tokenizer, pieces(ids, sizes)) == tokenizer.decode(ids)
    assert streamed(tokenizer, ([id] for id in ids)) == tokenizer.decode(ids)


@given(text=texts_with_specials)
def test_streaming_holds_back_only_incomplete_characters(tokenizer: Tokenizer, text: str) -> None:
    """After each id, all text so far is returned, except for an incomplete character."""
    ids = tokenizer.encode(text, special=SpecialPolicy.ENCODE)
    decoder, shown = StreamingDecoder(tokenizer), ""
    for count, id in enumerate(ids, 1):
        shown += decoder.feed(id)
        so_far = tokenizer.decode_bytes(ids[:count])
        assert so_far.startswith(shown.encode())
        assert len(so_far) - len(shown.encode()) <= 3
    assert shown + decoder.finish() == tokenizer.decode(ids)


def test_feed_and_stop_accept_numpy_integers(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("some text")
    decoder = StreamingDecoder(tokenizer)
    for integer in (np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        fed = [decoder.feed(id) for id in np.array(ids, integer)]
        assert "".join(fed) + decoder.finish() == tokenizer.decode(ids)
    stopping = StreamingDecoder(tokenizer, stop=np.int64(ids[-1]))
    stopping.feed(np.array(ids))
    assert stopping.stop_id == ids[-1]
    for wrong in (None, 1.5, [None], np.array([[1]])):
        with pytest.raises(DecodeError):
            StreamingDecoder(tokenizer, stop=wrong)  # type: ignore[arg-type]


def test_unknown_id_is_refused_with_its_position(tokenizer: Tokenizer) -> None:
    decoder = StreamingDecoder(tokenizer)
    ids = tokenizer.encode("some text")
    decoder.feed(ids)
    with pytest.raises(UnknownIdError) as told:
        decoder.feed([ids[0], tokenizer.info.vocab_size])
    assert told.value.position == len(ids) + 1


def test_incomplete_character_is_refused_or_replaced(tokenizer: Tokenizer) -> None:
    half = tokenizer.token_id(b"\xc3")
    if half is None:
        pytest.skip("it has no token of half a character")
    start = tokenizer.encode("text")
    strict = StreamingDecoder(tokenizer, errors="strict")
    place = len((strict.feed(start) + strict.feed(half)).encode())
    with pytest.raises(DecodeError, match=rf"byte {place} \(0xC3\)"):
        strict.finish()
    assert strict.feed(start) == tokenizer.decode(start)  # the decoder starts a new text
    with pytest.raises(DecodeError, match=rf"byte {place} \(0xC3\)"):
        strict.feed([half, half])
    replacing = StreamingDecoder(tokenizer)
    assert replacing.feed([*start, half]) + replacing.finish() == tokenizer.decode([*start, half])
