"""Tests for models with a denormalizer: decoding gives the library's text, whole or streamed, and formats keep it."""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from support.sentencepiece_models import scored, training_text, unknown, written
from support.texts import texts

import tokbench
from tokbench import StreamingDecoder
from tokbench.core.capabilities import Decoding
from tokbench.errors import ConversionError
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.libraries.sentencepiece.models import open_model
from tokbench.workbench.convert import convert

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.libraries.sentencepiece.tokenizer import SentencePieceTokenizer

RULES = {
    "a": "A",
    "th": "Th",
    " .": ".",
    "ü": "ue",
    "  ": " ",
    "\u2047": "?",
    "s\n": "",
    "1": "one",
    "日": "日本",
}
TRAININGS: dict[str, dict[str, Any]] = {
    "bpe": {
        "control_symbols": ["<|a|>"],
        "model_type": "bpe",
        "byte_fallback": True,
        "normalization_rule_name": "identity",
        "vocab_size": 700,
        "remove_extra_whitespaces": False,
        "user_defined_symbols": ["the cat", "a"],
    },
    "llama": {
        "model_type": "bpe",
        "byte_fallback": True,
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "vocab_size": 600,
    },
    "unigram": {"model_type": "unigram", "vocab_size": 500},
    "suffix": {"model_type": "unigram", "vocab_size": 500, "treat_whitespace_as_suffix": True},
}
FRAGMENTS = ["the  cat", " .", "a .", "s\n", "ü", "日", "⁇", "<s>", "</s>", "▁", "111"]
any_text = st.lists(st.sampled_from(FRAGMENTS) | texts, max_size=8).map("".join)


@pytest.fixture(scope="session")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "rules.tsv"

    def spelled(text: str) -> str:
        return " ".join(f"{ord(character):X}" for character in text)

    path.write_text("".join(f"{spelled(a)}\t{spelled(b)}\n" for a, b in RULES.items()), encoding="utf-8")
    return path


@cache
def trained(name: str, rules: Path) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(training_text()),
        model_writer=model,
        denormalization_rule_tsv=str(rules),
        minloglevel=3,
        **TRAININGS[name],
    )
    return model.getvalue()


@cache
def opened(proto: bytes) -> tuple[SentencePieceTokenizer, sentencepiece.SentencePieceProcessor]:
    return open_model(proto, name="mine"), sentencepiece.SentencePieceProcessor(model_proto=proto)


@pytest.mark.parametrize("name", TRAININGS)
@given(text=any_text)
def test_encoded_texts_decode_as_in_the_library(name: str, rules: Path, text: str) -> None:
    tokenizer, peer = opened(trained(name, rules))
    ids = peer.encode(text)
    assert tokenizer.encode(text) == ids
    assert tokenizer.decode(ids) == peer.decode(ids)


@pytest.mark.parametrize("name", TRAININGS)
@given(data=st.data())
def test_any_ids_decode_as_in_the_library(name: str, rules: Path, data: st.DataObject) -> None:
    tokenizer, peer = opened(trained(name, rules))
    ordinary = sorted(set(range(tokenizer.info.vocab_size)) - set(tokenizer.info.special_tokens.values()))
    ids = data.draw(st.lists(st.sampled_from(ordinary), max_size=8))
    expected = peer.decode(ids)
    if "\ufffd" not in expected:  # the two differ on incomplete characters
        assert tokenizer.decode(ids) == expected
    streaming = StreamingDecoder(tokenizer)
    assert "".join([*map(streaming.feed, ids), streaming.finish()]) == tokenizer.decode(ids)


def test_text_after_a_control_symbol_is_denormalized_separately(rules: Path) -> None:
    tokenizer, peer = opened(trained("bpe", rules))
    symbol = tokenizer.info.special_tokens["<|a|>"]
    ids = [symbol, *peer.encode("a cat"), symbol, *peer.encode(".")]
    assert tokenizer.decode(ids) == "<|a|>A cAt<|a|>."  # the symbol itself is not changed
    assert tokenizer.decoding is Decoding.WHOLE


def test_invalid_bytes_are_unchanged(rules: Path) -> None:
    tokenizer, _ = opened(trained("bpe", rules))
    ids = [tokenizer.token_id(piece) or 0 for piece in (b"a", b"\xe2", b"\x82", b"a", b"\xf0")]
    assert tokenizer.decode_bytes(ids) == b"A\xe2\x82A\xf0"
    assert tokenizer.token_bytes(ids[0]) == b"a"  # a token's bytes are not denormalized


@pytest.mark.parametrize("flags", [{"add_dummy_prefix": True}, {"remove_extra_whitespaces": True}], ids=str)
@pytest.mark.parametrize("escape_whitespaces", [False, True])
@given(ids=st.lists(st.integers(1, 260), max_size=5))
def test_denormalizer_options_are_followed(
    rules: Path, flags: dict[str, bool], escape_whitespaces: bool, ids: list[int]
) -> None:
    table = parse_model(trained("bpe", rules)).denormalizer["precompiled_charsmap"]
    plain = {"add_dummy_prefix": False, "remove_extra_whitespaces": False}
    options = {**plain, **flags, "escape_whitespaces": escape_whitespaces, "precompiled_charsmap": table}
    bytes_ = [ModelPiece(f"<0x{byte:02X}>", 0.0, PieceType.BYTE) for byte in range(256)]
    pieces = [unknown(), *bytes_, *scored({"▁": -1, "▁a": -2, "  ": -3, "th": -4})]
    proto = written(pieces, trainer={"byte_fallback": True}, denormalizer=options)
    tokenizer, peer = opened(proto)
    expected = peer.decode(ids)
    if "\ufffd" not in expected:
        assert tokenizer.decode(ids) == expected
    half = [1 + 0xE2, pieces.index(scored({"▁a": -2})[0])]
    assert tokenizer.decode(half) == peer.decode(half)  # space handling after an incomplete character


def test_denormalizer_options_without_a_table_do_nothing() -> None:
    pieces = [unknown(), *scored({"▁": -1, "▁a": -2})]
    tokenizer, peer = opened(written(pieces, denormalizer={"name": "none", "add_dummy_prefix": True}))
    assert tokenizer.decode([2, 2]) == peer.decode([2, 2]) == "a a"
    assert tokenizer.decoding is Decoding.FROM_LEFT


@pytest.mark.parametrize("target", ["tokenizers", "transformers", "llama2c"])
def test_conversion_to_formats_without_denormalizer_is_refused(
    rules: Path, tmp_path: Path, target: str
) -> None:
    tokenizer, _ = opened(trained("llama", rules))
    with pytest.raises(ConversionError, match="changes text when it decodes"):
        convert(tokenizer, to=target, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_tokbin_and_sentencepiece_keep_the_denormalizer(rules: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.model"
    path.write_bytes(trained("unigram", rules))
    tokenizer = tokbench.load(path)
    ids = tokenizer.encode("a cat .")
    for target, name in (("tokbin", "mine.tokbin"), ("sentencepiece", "other.model")):
        convert(tokenizer, to=target, out=tmp_path / name)
        again = tokbench.load(tmp_path / name)
        assert again.decode(ids) == tokenizer.decode(ids) == "A cAt."
        streaming = StreamingDecoder(again)
        assert "".join([*map(streaming.feed, ids), streaming.finish()]) == "A cAt."
