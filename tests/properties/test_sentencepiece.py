"""Properties of SentencePiece models on any text."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sentencepiece_models import (
    LOSSLESS_BUT_FOR_THE_SPACE_SIGN,
    VARIANTS,
    scored,
    unknown,
    variant,
    written,
)
from support.texts import texts

from tokbench import StreamingDecoder
from tokbench.core.tokens import TokenKind
from tokbench.errors import ModelFormatError
from tokbench.formats.sentencepiece.model import ModelType
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.libraries.sentencepiece.models import SentencePieceBpeTokenizer, open_model
from tokbench.libraries.sentencepiece.training_lines import Lines, cut_line

FRAGMENTS = [
    " ",
    "  ",
    "▁",
    "the",
    " the",
    "<s>",
    "</s>",
    "<sep>",
    "ab",
    "<0x41>",
    "\0",
    "\r\n",
    "日本",
    "😀",
    "ﬁ",
    "㍿",
    "½",
]
any_text = st.lists(st.sampled_from(FRAGMENTS) | texts, max_size=8).map("".join)


@pytest.fixture(scope="module", params=VARIANTS)
def name(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@given(text=any_text)
def test_ids_and_decoded_text_equal_the_librarys(name: str, text: str) -> None:
    tokenizer = variant(name)
    peer = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto)
    ids = peer.encode(text)
    assert tokenizer.encode(text) == ids == tokenizer.segment(text).ids
    assert tokenizer.decode(ids) == peer.decode(ids)


@given(text=any_text)
def test_spans_are_ordered_in_range_and_cover_kept_text(name: str, text: str) -> None:
    tokenizer = variant(name)
    data = text.encode()
    tokens = tokenizer.segment(text).tokens
    spans = [token.span for token in tokens]
    assert all(0 <= span.start <= span.stop <= len(data) for span in spans)
    assert all(one.start <= two.start and one.stop <= two.stop for one, two in pairwise(spans))
    if tokenizer.model.normalizer["name"] == "identity":  # the variants with "identity" keep all spaces
        assert b"".join(data[span.start : span.stop] for span in spans) == data
        fallback = [token for token in tokens if token.kind is TokenKind.BYTE]
        assert all(data[token.span.start : token.span.stop] == token.piece for token in fallback)


@given(text=any_text)
def test_identity_with_byte_fallback_is_lossless_except_for_the_space_sign(text: str) -> None:
    for variant_name in LOSSLESS_BUT_FOR_THE_SPACE_SIGN:
        tokenizer = variant(variant_name)
        assert not tokenizer.info.lossless
        assert tokenizer.decode_bytes(tokenizer.encode(text)) == text.replace("▁", " ").encode()


@given(text=any_text)
def test_bpe_without_dropout_equals_encoding(name: str, text: str) -> None:
    tokenizer = variant(name)
    if isinstance(tokenizer, SentencePieceBpeTokenizer):
        assert tokenizer.sample(text, seed=0, alpha=0.0) == tokenizer.encode(text)


@given(text=any_text, seed=st.integers(0, 2**64), alpha=st.floats(0, 1))
def test_samples_decode_to_the_same_text(name: str, text: str, seed: int, alpha: float) -> None:
    tokenizer = variant(name)
    ids = tokenizer.sample(text, seed=seed, alpha=alpha)
    assert ids == tokenizer.sample(text, seed=seed, alpha=alpha)
    if tokenizer.model.trainer["byte_fallback"]:  # without it, samples may differ in what is unknown
        assert tokenizer.decode(ids) == tokenizer.decode(tokenizer.encode(text))


@given(data=st.data())
def test_damaged_models_are_refused_or_work(data: st.DataObject) -> None:
    proto = bytearray(variant(data.draw(st.sampled_from(["bpe", "unigram as t5"]))).proto)
    for _ in range(data.draw(st.integers(1, 8))):
        proto[data.draw(st.integers(0, len(proto) - 1))] = data.draw(st.integers(0, 255))
    try:
        tokenizer = open_model(bytes(proto), name="damaged")
    except ModelFormatError:
        return
    text = "hello world ½ ﬁ  日本語😀\0"
    assert tokenizer.segment(text).ids == tokenizer.encode(text)


@given(data=st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ModelFormatError):
        open_model(data, name="garbage")


@given(documents=st.lists(any_text, max_size=5))
def test_library_gets_every_line(documents: list[str]) -> None:
    lines = Lines(documents)
    found = list(lines)
    expected = [part for text in documents for part in text.replace("▅", "\n").split("\n")]
    assert found == [part.rstrip("\r").encode() for part in expected if part.rstrip("\r")]
    assert lines.num_bytes == sum(len(text.encode()) for text in documents)
    assert lines.documents == sum(bool(text) for text in documents)


@given(text=any_text, longest=st.integers(4, 12))
def test_parts_of_a_long_line_join_to_it(text: str, longest: int) -> None:
    parts = list(cut_line(text.encode(), longest=longest))
    assert b"".join(parts) == text.encode()
    assert all(0 < len(part) <= longest and part.decode() for part in parts)


ODD_PIECES = [
    unknown(),
    ModelPiece("<s>", 0.0, PieceType.CONTROL),
    *scored(
        {"▁": -2.5, "a": -3, "b": -3.1, "▁a": -1, "a▁": -1.1, "b▁a": -1.2, "▁▁": -2, " ": -2, "a b": -1.5}
    ),
    *(ModelPiece(text, 0.0, PieceType.USER_DEFINED) for text in ("u v", "▁w", "x▁y")),
    ModelPiece("ab", -0.5, PieceType.UNUSED),
]
BYTE_PIECES = [ModelPiece(f"<0x{byte:02X}>", 0.0, PieceType.BYTE) for byte in range(256)]
odd_texts = st.lists(
    st.sampled_from(["a", "b", " ", "  ", "▁", "u v", "w", "x y", "x▁y", "é", "<s>", "\n"]), max_size=8
).map("".join)


@settings(max_examples=200)
@given(
    model_type=st.sampled_from(ModelType),
    trainer=st.fixed_dictionaries(
        {"byte_fallback": st.booleans(), "treat_whitespace_as_suffix": st.booleans()},
        optional={"unk_surface": st.sampled_from(["", " ?▁ ", "▁"])},
    ),
    normalizer=st.fixed_dictionaries(
        dict.fromkeys(("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces"), st.booleans())
    ),
    text=odd_texts,
    data=st.data(),
)
def test_every_model_option_is_followed_as_by_the_library(
    model_type: ModelType,
    trainer: dict[str, Any],
    normalizer: dict[str, bool],
    text: str,
    data: st.DataObject,
) -> None:
    pieces = [*ODD_PIECES, *(BYTE_PIECES if trainer["byte_fallback"] else [])]
    proto = written(pieces, trainer={**trainer, "model_type": model_type}, normalizer=normalizer)
    tokenizer, peer = open_model(proto, name="odd"), sentencepiece.SentencePieceProcessor(model_proto=proto)
    ids = peer.encode(text)
    assert tokenizer.encode(text) == tokenizer.segment(text).ids == ids
    assert tokenizer.encode_batch([text]).ids.tolist() == ids
    others = data.draw(st.lists(st.integers(0, len(pieces) - 1).filter(lambda each: each != 1), max_size=6))
    for given_ in (ids, others):
        expected = peer.decode(given_)
        assert (
            tokenizer.decode(given_) == expected or "\ufffd" in expected
        )  # the two differ on incomplete characters
        streaming = StreamingDecoder(tokenizer)
        assert "".join([*map(streaming.feed, given_), streaming.finish()]) == tokenizer.decode(given_)
