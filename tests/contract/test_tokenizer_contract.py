"""The contract of `Tokenizer`: one test suite over every backend and kernel, trained and opened."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.folders import files_of
from support.subjects import SPECIAL_TOKENS, sample_texts, texts_with_specials
from support.texts import texts

from tokbench.core.roles import role_ids_of, roles_of
from tokbench.core.streaming import StreamingDecoder
from tokbench.core.token_arrays import encode_spans
from tokbench.core.tokens import Span, SpecialPolicy, TokenKind
from tokbench.errors import (
    ConfigError,
    ConversionError,
    DecodeError,
    SpecialTokenError,
    StoreError,
    TextError,
    UnknownIdError,
)
from tokbench.formats.tokenizer_config.roles import with_roles

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.subjects import Subject

    from tokbench.core.interfaces import Tokenizer

policies = st.sampled_from([SpecialPolicy.TEXT, SpecialPolicy.ENCODE])


# Encoding


@given(text=texts_with_specials, special=policies)
def test_ids_of_a_segmentation_equal_those_of_encoding(
    tokenizer: Tokenizer, text: str, special: SpecialPolicy
) -> None:
    segmentation = tokenizer.segment(text, special=special)
    assert segmentation.text == text
    assert segmentation.ids == tokenizer.encode(text, special=special)


@given(text=texts_with_specials, special=policies)
def test_ids_are_in_the_vocabulary(tokenizer: Tokenizer, text: str, special: SpecialPolicy) -> None:
    ids = tokenizer.encode(text, special=special)
    assert all(type(id) is int and 0 <= id < tokenizer.info.vocab_size for id in ids)


@given(text=texts_with_specials, special=policies)
def test_spans_are_ordered_and_in_range(tokenizer: Tokenizer, text: str, special: SpecialPolicy) -> None:
    spans = [token.span for token in tokenizer.segment(text, special=special).tokens]
    size = len(text.encode())
    assert all(0 <= span.start <= span.stop <= size for span in spans)
    assert all(one.start <= other.start and one.stop <= other.stop for one, other in pairwise(spans))


@given(text=texts_with_specials, special=policies)
def test_pieces_are_the_bytes_of_the_ids(tokenizer: Tokenizer, text: str, special: SpecialPolicy) -> None:
    for token in tokenizer.segment(text, special=special).tokens:
        assert token.piece == tokenizer.token_bytes(token.id)
        assert (token.kind is TokenKind.SPECIAL) == (token.id in tokenizer.info.special_tokens.values())


@given(text=texts_with_specials, special=policies)
def test_lossless_tokenizer_roundtrips_and_its_spans_cover_the_text(
    tokenizer: Tokenizer, text: str, special: SpecialPolicy
) -> None:
    if not tokenizer.info.lossless:
        pytest.skip("its text may not come back")
    tokens = tokenizer.segment(text, special=special).tokens
    data = text.encode()
    ends = [0, *(token.span.stop for token in tokens)]
    assert [token.span for token in tokens] == [Span(start, stop) for start, stop in pairwise(ends)]
    assert ends[-1] == len(data)
    assert all(token.piece == data[token.span.start : token.span.stop] for token in tokens)
    ids = tokenizer.encode(text, special=special)
    assert tokenizer.decode_bytes(ids) == data
    assert tokenizer.decode(ids) == tokenizer.decode(ids, errors="strict") == text


@given(text=texts)
def test_decoding_is_idempotent_without_unknown_tokens(tokenizer: Tokenizer, text: str) -> None:
    tokens = tokenizer.segment(text).tokens
    if any(token.kind is TokenKind.UNKNOWN for token in tokens):
        return  # an unknown token decodes to other text
    once = tokenizer.decode([token.id for token in tokens])
    assert tokenizer.decode(tokenizer.encode(once)) == once


def test_empty_text_has_no_tokens(tokenizer: Tokenizer) -> None:
    for special in SpecialPolicy:
        assert tokenizer.encode("", special=special) == []
        assert tokenizer.segment("", special=special).tokens == ()
    assert tokenizer.decode_bytes([]) == b""
    assert tokenizer.decode([]) == ""


def test_nul_is_an_ordinary_character(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("a\0b\0")
    assert ids[: len(tokenizer.encode("a"))] == tokenizer.encode("a")
    if tokenizer.info.lossless:
        assert len(ids) > len(tokenizer.encode("ab"))
        assert tokenizer.decode_bytes(ids) == b"a\0b\0"


@given(text=texts)
def test_pretokens_partition_the_text(tokenizer: Tokenizer, text: str) -> None:
    if (split := getattr(tokenizer, "pretokens", None)) is not None:
        pretokens = split(text)
        assert all(pretokens)
        if tokenizer.info.lossless:
            assert "".join(pretokens) == text


# Special tokens


def test_special_tokens_are_in_the_vocabulary(tokenizer: Tokenizer) -> None:
    specials = tokenizer.info.special_tokens
    assert list(specials) == list(SPECIAL_TOKENS)
    assert len(set(specials.values())) == len(specials)
    for text, id in specials.items():
        assert 0 <= id < tokenizer.info.vocab_size
        assert tokenizer.token_bytes(id) == text.encode()
        assert tokenizer.token_id(text.encode()) == id
        assert tokenizer.decode([id]) == text


@given(text=texts_with_specials)
def test_special_tokens_are_ordinary_text_by_default(tokenizer: Tokenizer, text: str) -> None:
    specials = set(tokenizer.info.special_tokens.values())
    assert specials.isdisjoint(tokenizer.encode(text))
    assert specials.isdisjoint(tokenizer.encode_batch([text]).ids.tolist())
    assert all(token.kind is not TokenKind.SPECIAL for token in tokenizer.segment(text).tokens)


@given(
    parts=st.lists(texts.filter(lambda text: "<" not in text) | st.sampled_from(SPECIAL_TOKENS), max_size=5)
)
def test_special_tokens_are_encoded_if_requested(tokenizer: Tokenizer, parts: list[str]) -> None:
    text = "".join(parts)
    special_ids = tokenizer.info.special_tokens
    ids = tokenizer.encode(text, special=SpecialPolicy.ENCODE)
    expected = [special_ids[part] for part in parts if part in special_ids]
    assert [id for id in ids if id in special_ids.values()] == expected


def test_text_around_a_special_token_is_encoded_separately(tokenizer: Tokenizer) -> None:
    pad = tokenizer.info.special_tokens["<pad>"]
    for before, after in ("the", " hat"), ("", ""), ("e", "\u0301"), ("a ", "\n\n b"):
        ids = tokenizer.encode(f"{before}<pad>{after}", special=SpecialPolicy.ENCODE)
        assert ids == [*tokenizer.encode(before), pad, *tokenizer.encode(after)]


@pytest.mark.parametrize("call", ["encode", "segment", "encode_batch"])
def test_special_token_raises_if_requested(tokenizer: Tokenizer, call: str) -> None:
    def take(text: str) -> object:
        return getattr(tokenizer, call)(
            [text] if call == "encode_batch" else text, special=SpecialPolicy.RAISE
        )

    take("nothing special < | pad >")
    with pytest.raises(SpecialTokenError) as caught:
        take("né<pad><|endoftext|>")
    assert caught.value.token == "<pad>"
    assert caught.value.span == Span(3, 8)


def test_special_tokens_are_excluded_from_the_trained_text(subject: Subject) -> None:
    plain = ["low lower lowest", "wide wider widest", " ", "\n"] * 30
    marked = [f"<pad>{text}<|endoftext|>" for text in plain] + ["<|endoftext|>", "<pad><pad>"] * 60
    trained, expected = subject.train(marked), subject.train(plain)
    tokens = [trained.token_bytes(id) for id in range(trained.info.vocab_size)]
    assert tokens == [expected.token_bytes(id) for id in range(expected.info.vocab_size)]
    special = {text.encode() for text in SPECIAL_TOKENS}
    assert not [token for token in tokens if token not in special and (b"pad" in token or b"endof" in token)]


def test_roles_are_saved_in_the_folder(tokenizer: Tokenizer, subject: Subject, tmp_path: Path) -> None:
    given = {"eos": "<|endoftext|>", "pad": "<pad>", "turn_end": "<|endoftext|>"}
    trained = with_roles(subject.train(["low lower"] * 9), roles=given)
    trained.save(tmp_path / "mine")
    opened = subject.open(tmp_path / "mine")
    specials = opened.info.special_tokens
    for one in (trained, opened):
        assert {role: text for role, text in roles_of(one).items() if role in given} == given
        assert role_ids_of(one)["pad"] == specials["<pad>"]
        texts_of_roles = [text for role, text in roles_of(one).items() if role != "unk"]
        for text in texts_of_roles:
            assert specials[text] not in one.encode(f"a {text}b{text}")
            assert specials[text] not in one.encode_batch([text]).ids.tolist()


# Tokens


def test_tokens_have_bytes_and_are_found_by_them(tokenizer: Tokenizer) -> None:
    entries = [tokenizer.token_bytes(id) for id in range(tokenizer.info.vocab_size)]
    counts = Counter(entries)
    for id, data in enumerate(entries):
        first = tokenizer.token_id(data)
        assert first is not None
        assert entries[first] == data  # a byte of byte fallback may be a piece too
        assert first == id or counts[data] > 1


def test_unknown_piece_is_not_found(tokenizer: Tokenizer) -> None:
    for piece in (b"", b"no such piece \xff", "no such piece".encode("utf-16")):
        assert tokenizer.token_id(piece) is None


@pytest.mark.parametrize(
    "unknown", [-1, -(2**31), 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, -(2**63), 2**64, 2**70, -(2**70)]
)
def test_unknown_id_is_refused_with_its_position(tokenizer: Tokenizer, unknown: int) -> None:
    size = tokenizer.info.vocab_size
    known = tokenizer.encode("known ids")
    for decode in (tokenizer.decode_bytes, tokenizer.decode):
        with pytest.raises(UnknownIdError) as caught:
            decode([*known, unknown, size, 2**70])
        assert (caught.value.id, caught.value.position, caught.value.vocab_size) == (
            unknown,
            len(known),
            size,
        )
    with pytest.raises(UnknownIdError) as caught:
        tokenizer.token_bytes(unknown)
    assert (caught.value.id, caught.value.vocab_size) == (unknown, size)


def test_first_id_beyond_the_vocabulary_is_unknown(tokenizer: Tokenizer) -> None:
    size = tokenizer.info.vocab_size
    assert tokenizer.decode_bytes([size - 1]).endswith(tokenizer.token_bytes(size - 1))  # "##x" in WordPiece
    with pytest.raises(UnknownIdError) as caught:
        tokenizer.decode_bytes([size])
    assert (caught.value.id, caught.value.position) == (size, 0)
    with pytest.raises(UnknownIdError):
        tokenizer.token_bytes(size)


@pytest.mark.parametrize("begins", ["", " ", "  a", SPECIAL_TOKENS[0], f" {SPECIAL_TOKENS[0]} b"])
def test_many_ids_are_decoded_like_few(
    tokenizer: Tokenizer, begins: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = begins + " ".join(sample_texts()[:20] + SPECIAL_TOKENS[:1]) * 3
    ids = tokenizer.encode(text, special=SpecialPolicy.ENCODE)
    many = ids * (2000 // len(ids) + 1)
    data = tokenizer.decode_bytes(many)
    monkeypatch.setattr("tokbench.core.base._MANY_IDS", len(many) + 1)
    assert data == tokenizer.decode_bytes(many)
    monkeypatch.undo()
    with pytest.raises(UnknownIdError) as caught:
        tokenizer.decode_bytes([*many, tokenizer.info.vocab_size, *many])
    assert caught.value.position == len(many)


def test_ids_may_be_an_array(tokenizer: Tokenizer) -> None:
    text = "some text\n"
    ids = tokenizer.encode(text)
    expected = tokenizer.decode_bytes(ids)
    for kind in (np.uint32, np.int64, np.uint16):
        assert tokenizer.decode_bytes(np.array(ids, dtype=kind)) == expected


def test_incomplete_character_is_replaced_or_refused(tokenizer: Tokenizer) -> None:
    half = tokenizer.token_id(b"\xc3")
    if half is None:
        pytest.skip("no token of it is half a character")
    assert tokenizer.decode_bytes([half]) == b"\xc3"
    assert tokenizer.decode([*tokenizer.encode("a"), half]) == "a\ufffd"
    with pytest.raises(DecodeError, match=r"byte 1 \(0xC3\)"):
        tokenizer.decode([*tokenizer.encode("a"), half], errors="strict")


@pytest.mark.parametrize("errors", ["nope", "", None, 3])
def test_unknown_errors_option_is_refused_even_for_whole_characters(
    tokenizer: Tokenizer, errors: Any
) -> None:
    for ids in (tokenizer.encode("a"), []):
        with pytest.raises(ConfigError, match="unknown errors"):
            tokenizer.decode(ids, errors=errors)
    with pytest.raises(ConfigError, match="unknown errors"):
        StreamingDecoder(tokenizer, errors=errors)


# Invalid text


@pytest.mark.parametrize("special", SpecialPolicy)
def test_lone_surrogate_is_refused_with_its_position(tokenizer: Tokenizer, special: SpecialPolicy) -> None:
    calls: list[Callable[[str], object]] = [
        lambda text: tokenizer.encode(text, special=special),
        lambda text: tokenizer.segment(text, special=special),
        lambda text: tokenizer.encode_batch(["good", text], special=special, threads=2),
        lambda text: encode_spans(tokenizer, ["good", text], threads=2),
    ]
    if (split := getattr(tokenizer, "pretokens", None)) is not None:
        calls.append(split)
    for call in calls:
        with pytest.raises(TextError, match=r"U\+DC80, at character 6"):
            call("te\u0301xt \udc80")
        with pytest.raises(TextError):
            call("\ud800")


# Saving


def test_saved_and_opened_tokenizer_is_equal(subject: Subject, trained: Tokenizer, tmp_path: Path) -> None:
    trained.save(tmp_path / "mine")
    opened = subject.open(tmp_path / "mine")
    assert opened.info == replace(trained.info, name="mine")
    for special in (SpecialPolicy.TEXT, SpecialPolicy.ENCODE):
        for text in sample_texts():
            assert opened.segment(text, special=special) == trained.segment(text, special=special)
    for id in range(trained.info.vocab_size):
        assert opened.token_bytes(id) == trained.token_bytes(id)


def test_equal_tokenizers_are_saved_in_equal_bytes(trained: Tokenizer, tmp_path: Path) -> None:
    trained.save(tmp_path / "one" / "mine")
    trained.save(tmp_path / "other" / "mine")
    assert files_of(tmp_path / "one" / "mine") == files_of(tmp_path / "other" / "mine")


def test_saving_an_opened_tokenizer_gives_the_same_files(
    subject: Subject, trained: Tokenizer, tmp_path: Path
) -> None:
    trained.save(tmp_path / "one" / "mine")
    subject.open(tmp_path / "one" / "mine").save(tmp_path / "other" / "mine")
    assert files_of(tmp_path / "one" / "mine") == files_of(tmp_path / "other" / "mine")


def test_existing_folder_is_replaced_only_with_overwrite(trained: Tokenizer, tmp_path: Path) -> None:
    trained.save(tmp_path / "mine")
    with pytest.raises(StoreError):
        trained.save(tmp_path / "mine")
    trained.save(tmp_path / "mine", overwrite=True)


# Python conventions


def test_repr_is_one_line_with_name_and_size(tokenizer: Tokenizer) -> None:
    shown = repr(tokenizer)
    assert len(shown) < 100
    assert tokenizer.info.name in shown
    assert f"{tokenizer.info.vocab_size:,}" in shown
    assert tokenizer.vocab_size == tokenizer.info.vocab_size  # type: ignore[attr-defined]


def test_to_tiktoken_gives_the_same_ids_or_is_refused(tokenizer: Tokenizer) -> None:
    try:
        encoding = tokenizer.to_tiktoken()  # type: ignore[attr-defined]
    except ConversionError as refused:
        assert refused.message.startswith("this conversion cannot be exact: ")
        assert refused.hint
    else:
        for text in sample_texts():
            assert encoding.encode_ordinary(text) == tokenizer.encode(text)


def test_calling_a_tokenizer_encodes(tokenizer: Tokenizer) -> None:
    assert tokenizer("some text") == tokenizer.encode("some text")  # type: ignore[operator]
