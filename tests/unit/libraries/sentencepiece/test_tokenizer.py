"""Tests for SentencePiece tokenizers: bytes, spans, kinds, special tokens and scores."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
import sentencepiece
from support.sentencepiece_models import VARIANTS, scored, unknown, variant, written
from support.texts import bundled_texts

from tokbench.core.capabilities import SupportsSampling
from tokbench.core.descriptions import DescribesItself, SentencePieceModel
from tokbench.core.tokens import Span, SpecialPolicy, TokenKind
from tokbench.errors import ModelFormatError, SpecialTokenError, TextError, UnknownIdError
from tokbench.libraries.sentencepiece.models import SentencePieceBpeTokenizer, UnigramTokenizer, open_model

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.libraries.sentencepiece.tokenizer import SentencePieceTokenizer


def library(tokenizer: SentencePieceTokenizer) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto)


def shown(tokenizer: SentencePieceTokenizer, text: str) -> list[tuple[bytes, str]]:
    """Return each token's piece and the text that its span covers."""
    data = text.encode()
    return [
        (token.piece, data[token.span.start : token.span.stop].decode(errors="backslashreplace"))
        for token in tokenizer.segment(text).tokens
    ]


# --- parity with the library ------------------------------------------------------------------


@pytest.mark.parametrize("name", VARIANTS)
def test_ids_and_text_equal_the_librarys(name: str) -> None:
    tokenizer = variant(name)
    peer = library(tokenizer)
    lines = [line for text in bundled_texts().values() for line in text.splitlines()[:12]]
    batch = tokenizer.encode_batch(lines, threads=2)
    for line, row in zip(lines, batch, strict=True):
        ids = peer.encode(line)
        assert tokenizer.encode(line) == row.tolist() == ids
        assert tokenizer.decode(ids) == peer.decode(ids)


@pytest.mark.parametrize("name", ["bpe", "unigram as t5"])
def test_any_ids_decode_as_in_the_library(name: str) -> None:
    tokenizer = variant(name)
    peer = library(tokenizer)
    ordinary = sorted(set(range(tokenizer.info.vocab_size)) - set(tokenizer.info.special_tokens.values()))
    compared = 0
    for size in range(1, 6):
        for start in range(0, len(ordinary) - size, 7):
            ids = ordinary[start : start + size]
            expected = tokenizer.decode_bytes(ids)
            if "\ufffd" not in expected.decode(errors="replace"):  # the two differ on incomplete characters
                assert expected.decode() == peer.decode(ids)
                compared += 1
    assert compared > 50


# --- spans, pieces and kinds ------------------------------------------------------------------


def test_dummy_prefix_joins_a_piece_or_has_an_empty_span() -> None:
    tokenizer = open_model(written([unknown(), *scored({"▁": -4, "▁a": -1, "b": -2})]), name="mine")
    assert shown(tokenizer, "ab") == [(b" a", "a"), (b"b", "b")]
    assert shown(tokenizer, "b") == [(b" ", ""), (b"b", "b")]
    assert shown(tokenizer, " b") == [(b" ", ""), (b" ", " "), (b"b", "b")]


def test_each_byte_of_a_byte_fallback_has_its_own_span() -> None:
    tokens = variant("bpe").segment("a😀b").tokens
    fallback = [token for token in tokens if token.kind is TokenKind.BYTE]
    assert [(token.piece, token.span) for token in fallback] == [
        (b"\xf0", Span(1, 2)),
        (b"\x9f", Span(2, 3)),
        (b"\x98", Span(3, 4)),
        (b"\x80", Span(4, 5)),
    ]


def test_bytes_of_a_normalized_character_share_its_span() -> None:
    tokenizer = variant("bpe folded")
    # NFKC turns U+337F into four characters, which share one place in the text.
    tokens = [token for token in tokenizer.segment("a㍿b").tokens if token.kind is TokenKind.BYTE]
    assert b"".join(token.piece for token in tokens) == "株式会社".encode()
    assert {token.span for token in tokens} == {Span(1, 1), Span(1, 4)}
    assert tokens[-1].span == Span(1, 4)


def test_adjacent_unknown_characters_are_one_token() -> None:
    tokenizer = variant("unigram without bytes")
    (token,) = [each for each in tokenizer.segment("a日本語b").tokens if each.kind is TokenKind.UNKNOWN]
    assert token.span == Span(1, 10)
    assert token.piece == tokenizer.token_bytes(token.id) == " ⁇ ".encode()


def test_removed_white_space_is_in_the_span_of_the_kept_space() -> None:
    tokenizer = open_model(
        written(
            [unknown(), *scored({"▁": -4, "▁a": -1, "▁b": -2})], normalizer={"remove_extra_whitespaces": True}
        ),
        name="mine",
    )
    assert shown(tokenizer, "  a   b ") == [(b" a", "a"), (b" b", "   b")]
    assert tokenizer.decode(tokenizer.encode("  a   b ")) == "a b"


def test_user_defined_symbols_have_kind_special_and_match_in_every_text() -> None:
    tokenizer = variant("bpe with symbols")
    tokens = tokenizer.segment("x<sep>y").tokens
    assert [(token.piece, token.kind) for token in tokens if token.kind is TokenKind.SPECIAL] == [
        (b"<sep>", TokenKind.SPECIAL)
    ]
    assert "<sep>" not in tokenizer.info.special_tokens


def test_spelling_of_a_byte_piece_is_text() -> None:
    tokenizer = variant("bpe")
    assert all(token.kind is TokenKind.NORMAL for token in tokenizer.segment("<0x0A><unk>").tokens)
    assert tokenizer.decode(tokenizer.encode("<0x0A><unk>")) == "<0x0A><unk>"


# --- special tokens ---------------------------------------------------------------------------


def test_control_symbols_are_ordinary_text_by_default() -> None:
    tokenizer = variant("bpe")
    assert tokenizer.info.special_tokens == {"<s>": 1, "</s>": 2}
    assert {1, 2}.isdisjoint(tokenizer.encode("<s>hi</s>"))
    assert tokenizer.decode(tokenizer.encode("<s>hi</s>")) == "<s>hi</s>"


def test_control_symbols_are_encoded_if_requested() -> None:
    tokenizer = variant("bpe as llama")
    text = "<s>hello<|a|> world[X]</s>"
    ids = tokenizer.encode(text, special=SpecialPolicy.ENCODE)
    assert [id for id in ids if id in (1, 2, 3, 4)] == [1, 3, 4, 2]
    assert tokenizer.decode(ids) == text  # each part is decoded without its dummy prefix
    with pytest.raises(SpecialTokenError):
        tokenizer.encode(text, special=SpecialPolicy.RAISE)


# --- tokens ----------------------------------------------------------------------------------


def test_tokens_are_found_by_their_bytes() -> None:
    tokenizer = variant("bpe")
    assert tokenizer.token_id(b"er") == library(tokenizer).piece_to_id("er") > 0
    assert tokenizer.token_id(b" the") == library(tokenizer).piece_to_id("▁the")
    assert tokenizer.token_id(b"\xe2") == 3 + 0xE2
    assert tokenizer.token_id(b"a") == library(tokenizer).piece_to_id("a") != 3 + ord("a")
    assert tokenizer.token_id(b"<s>") == 1
    assert tokenizer.token_id("▁the".encode()) is None
    with pytest.raises(UnknownIdError):
        tokenizer.token_bytes(700)


def test_only_normal_pieces_have_scores() -> None:
    tokenizer = variant("unigram")
    peer = library(tokenizer)
    id = peer.piece_to_id("▁")
    assert tokenizer.score(id) == peer.get_score(id)
    assert tokenizer.score(0) is None
    assert tokenizer.score(3) is None
    with pytest.raises(UnknownIdError):
        tokenizer.score(700)


def test_capabilities_depend_on_the_algorithm() -> None:
    bpe, unigram = variant("bpe"), variant("unigram")
    assert isinstance(bpe, SentencePieceBpeTokenizer)
    assert isinstance(unigram, UnigramTokenizer)
    for tokenizer in (bpe, unigram):
        assert isinstance(tokenizer, SupportsSampling)
        assert isinstance(tokenizer, DescribesItself)
        assert tokenizer.description() == SentencePieceModel(tokenizer.proto, {"<s>": 1, "</s>": 2})


def test_word_and_character_models_open() -> None:
    for model_type in (3, 4):
        proto = written(
            [unknown(), *scored({"▁a": -1, "▁": -2, "b": -3})], trainer={"model_type": model_type}
        )
        tokenizer = open_model(proto, name="mine")
        assert tokenizer.info.backend == "sentencepiece"
        assert not isinstance(tokenizer, SupportsSampling)
        assert tokenizer.encode("a b") == library(tokenizer).encode("a b")


def test_model_that_only_the_library_refuses_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise RuntimeError("INTERNAL: some check of a newer version")

    proto = written([unknown(), *scored({"a": -1})])
    monkeypatch.setattr(sentencepiece, "SentencePieceProcessor", refuse)
    with pytest.raises(ModelFormatError, match="a newer version"):
        open_model(proto, name="mine")


@pytest.mark.parametrize("name", ["bpe", "unigram"])
def test_lone_surrogate_is_refused(name: str) -> None:
    tokenizer = variant(name)
    with pytest.raises(TextError):
        tokenizer.sample("a\ud800", seed=1)
    with pytest.raises(TextError):
        tokenizer.encode_batch(["a", "a\ud800"])


# --- real models ------------------------------------------------------------------------------


@pytest.mark.real
@pytest.mark.parametrize("name", ["mistral/tokenizer.model.v1", "t5-base/spiece.model"])
def test_real_models_encode_and_decode_as_in_the_library(shared: Path, name: str) -> None:
    proto = (shared / "vocab" / name).read_bytes()
    tokenizer = open_model(proto, name="real")
    peer = library(tokenizer)
    assert tokenizer.info.vocab_size == 32000
    is_exact = name.startswith("mistral")
    for text in bundled_texts().values():
        for line in text.splitlines(keepends=True)[:40]:
            ids = peer.encode(line)
            tokens = tokenizer.segment(line).tokens
            assert [token.id for token in tokens] == tokenizer.encode(line) == ids
            assert tokenizer.decode(ids) == peer.decode(ids)
            spans = [token.span for token in tokens]
            assert all(one.start <= two.start and one.stop <= two.stop for one, two in pairwise(spans))
            assert all(0 <= span.start <= span.stop <= len(line.encode()) for span in spans)
            if is_exact and "▁" not in line:
                assert tokenizer.decode(ids) == line
                covered = b"".join(line.encode()[span.start : span.stop] for span in spans)
                assert covered == line.encode()
