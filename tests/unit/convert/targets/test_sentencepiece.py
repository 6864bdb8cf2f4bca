"""SentencePiece models converted to a tokenizer.json, back from one, and to the tokenizer.bin of llama2.c."""

from __future__ import annotations

import json
import struct
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from support import huggingface
from support.sentencepiece_models import scored, unknown, variant, written
from support.texts import texts

from tokbench.errors import ConversionError, ModelFormatError
from tokbench.formats.llama2c import Llama2cTokenizer, dump_llama2c
from tokbench.formats.sentencepiece.bpe import model_of_bpe
from tokbench.formats.sentencepiece.model import SPACE, ModelType, SentencePieceFile, parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.formats.sentencepiece.tokenizer_json import dump_sentencepiece, merge_order
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.libraries.huggingface.tokenizer_json import parse_tokenizer_json
from tokbench.libraries.sentencepiece.models import open_model
from tokbench.opening.native_bpe import merge_pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokbench.core.interfaces import Tokenizer

SPECIALS = [huggingface.added(text, id) for id, text in enumerate(huggingface.SPECIALS)]
BPE = {"model_type": ModelType.BPE}


def model(pieces: dict[str, float], **trainer: Any) -> SentencePieceFile:
    return parse_model(written([unknown(), *scored(pieces)], trainer=BPE | trainer))


# --- to tokenizers ----------------------------------------------------------------------------


def test_scores_become_one_merge_for_each_piece() -> None:
    merges_in_order = merge_order(
        model({"ab": -1.0, "abc": -2.0, "bc": -3.0, "a": -9.0, "b": -9.0, "c": -9.0})
    )
    assert merges_in_order == [("a", "b"), ("ab", "c"), ("b", "c")]


def test_pieces_of_one_repeated_character_may_share_a_score() -> None:
    assert merge_order(model({"aa": 0.0, "aaa": 0.0, "a": -1.0})) == [("aa", "a"), ("a", "a")]


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ({"ab": -1.0, "ba": -1.0, "a": -2.0, "b": -2.0}, "have the same score"),
        ({"ab": -1.0, "a": -2.0}, "'b' in the piece 'ab' is not a piece itself"),
    ],
)
def test_scores_without_a_unique_order_are_refused(pieces: dict[str, float], message: str) -> None:
    with pytest.raises(ConversionError, match=message):
        merge_order(model(pieces))


def test_unused_pieces_and_other_model_types_are_refused() -> None:
    pieces = [unknown(), ModelPiece("ab", -1.0, PieceType.UNUSED), *scored({"a": -2.0, "b": -2.0})]
    with pytest.raises(ConversionError, match="an unused piece"):
        dump_sentencepiece(parse_model(written(pieces, trainer=BPE)))
    with pytest.raises(ConversionError, match="no model of the type char"):
        dump_sentencepiece(model({"a": -1.0}, model_type=ModelType.CHAR))


# --- back again -------------------------------------------------------------------------------


def tokenizer_json_of(proto: bytes) -> dict[str, Any]:
    return parse_tokenizer_json(dump_sentencepiece(parse_model(proto)), source="mine")


def model_of_document(document: dict[str, Any]) -> bytes:
    return model_of_bpe(document, merges=merge_pairs(document["model"], path="mine")).proto


@cache
def round_trip(name: str) -> tuple[Tokenizer, Tokenizer]:
    source = variant(name)
    return source, open_model(
        model_of_document(tokenizer_json_of(source.proto)), name="back", backend="sentencepiece"
    )


@pytest.mark.parametrize("name", ["bpe", "bpe as llama", "bpe without prefix"])
def test_roundtrip_keeps_the_pieces(name: str) -> None:
    before, after = parse_model(variant(name).proto), parse_model(round_trip(name)[1].proto)  # type: ignore[attr-defined]
    assert [(piece.text, piece.type) for piece in after.pieces] == [
        (piece.text, piece.type) for piece in before.pieces
    ]
    assert merge_order(after) == merge_order(before)
    for option in ("byte_fallback", "unk_id", "bos_id", "eos_id", "pad_id"):
        assert after.trainer[option] == before.trainer[option]
    assert after.normalizer["add_dummy_prefix"] == before.normalizer["add_dummy_prefix"]


@given(texts)
def test_roundtrip_encodes_any_text_alike(text: str) -> None:
    source, result = round_trip("bpe as llama")
    assert result.encode(text) == source.encode(text)
    assert result.decode(result.encode(text)) == source.decode(source.encode(text))


def changed(**parts: Any) -> dict[str, Any]:
    document = json.loads(huggingface.byte_fallback())
    document["model"] |= parts.pop("model", {})
    return document | parts  # type: ignore[no-any-return]


def test_tokenizer_json_becomes_a_model_as_worked_by_hand() -> None:
    pieces = parse_model(model_of_document(changed())).pieces
    by_text = {piece.text: piece for piece in pieces}
    assert (by_text["ab"].score, by_text["▁ab"].score, by_text["é"].score) == (0.0, -1.0, -2.0)
    assert [piece.type for piece in pieces[:4]] == [
        PieceType.UNKNOWN,
        PieceType.CONTROL,
        PieceType.CONTROL,
        PieceType.BYTE,
    ]
    opened = open_model(model_of_document(changed()), name="mine", backend="sentencepiece")
    library = HuggingFaceTokenizer(huggingface.byte_fallback(), name="mine", backend="bpe")
    assert opened.encode("ab éab") == library.encode("ab éab")


def merges(*pairs: str) -> dict[str, Any]:
    split_pairs = [pair.split() for pair in pairs]
    return {"merges": split_pairs}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"normalizer": {"type": "NFC"}}, "prepares or splits them in another way"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "prepares or splits them in another way"),
        ({"model": {"dropout": 0.1}}, "dropout = 0.1"),
        ({"model": {"ignore_merges": True}}, "ignore_merges = True"),
        ({"model": {"end_of_word_suffix": "</w>"}}, "end_of_word_suffix"),
        ({"model": {"unk_token": None}}, "needs an unknown piece"),
        ({"model": {"byte_fallback": False, "fuse_unk": False}}, "neighbouring unknown characters"),
        ({"added_tokens": [huggingface.added("ab", 262, special=False)]}, "is not special"),
        ({"added_tokens": [huggingface.added("<x>", 999)]}, "have a gap"),
        ({"model": merges("a b")}, "'▁ab' would be merged differently"),
        ({"model": merges("a b", "▁a b")}, "'▁ab' would be merged differently"),
        ({"added_tokens": [*SPECIALS, huggingface.added("ab", 263)]}, "a merge makes 'ab', which is no"),
    ],
)
def test_settings_without_a_sentencepiece_equivalent_are_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(ConversionError, match=message):
        model_of_document(changed(**parts))


def test_incomplete_byte_fallback_is_refused() -> None:
    document = changed()
    vocab = document["model"]["vocab"]
    vocab["never"] = vocab.pop("<0x07>")
    with pytest.raises(ConversionError, match="all 256 bytes or to none"):
        model_of_document(document)


# --- to llama2.c ------------------------------------------------------------------------------


def reference(data: bytes) -> Callable[[str], list[int]]:
    """Reimplement run.c: scan all pairs, merge the best one, begin again."""
    (longest,) = struct.unpack_from("<i", data)
    vocab: list[tuple[bytes, float]] = []
    place = 4
    while place < len(data):
        score, size = struct.unpack_from("<fi", data, place)
        vocab.append((data[place + 8 : place + 8 + size], score))
        place += 8 + size
    assert max(len(entry) for entry, _ in vocab) == longest
    lookup = {entry: id for id, (entry, _) in enumerate(vocab)}

    def encode(text: str) -> list[int]:
        tokens = [lookup[b" "]] if text else []
        for character in text:
            data = character.encode()
            tokens += [lookup[data]] if data in lookup else [byte + 3 for byte in data]
        while True:
            best = (-1e10, -1, -1)
            for place in range(len(tokens) - 1):
                id = lookup.get(vocab[tokens[place]][0] + vocab[tokens[place + 1]][0], -1)
                if id != -1 and vocab[id][1] > best[0]:
                    best = (vocab[id][1], id, place)
            if best[1] == -1:
                return tokens
            tokens[best[2] : best[2] + 2] = [best[1]]

    return encode


@cache
def as_llama() -> Tokenizer:
    return variant("bpe")


def test_file_has_the_header_of_llama2c() -> None:
    data = dump_llama2c(parse_model(variant("bpe").proto))
    entries = Llama2cTokenizer(data).entries
    assert struct.unpack_from("<ifi", data) == (max(map(len, entries)), 0.0, len("<unk>"))
    assert entries[:4] == [b"<unk>", b"\n<s>\n", b"\n</s>\n", b"<0x00>"]
    assert len(entries) == 700
    assert not any(SPACE.encode() in entry for entry in entries)


@given(texts.filter(lambda text: SPACE not in text and "\0" not in text))
def test_llama2c_encodes_as_sentencepiece(text: str) -> None:
    data = dump_llama2c(parse_model(variant("bpe").proto))
    ids = as_llama().encode(text)
    assert Llama2cTokenizer(data).encode(text) == ids
    assert reference(data)(text) == ids
    assert Llama2cTokenizer(data).decode(ids) == as_llama().decode(ids)


def pieces_of(**changes: float) -> list[ModelPiece]:
    controls = [ModelPiece(text, 0.0, PieceType.CONTROL) for text in ("<s>", "</s>")]
    bytes_ = [ModelPiece(f"<0x{byte:02X}>", 0.0, PieceType.BYTE) for byte in range(256)]
    return [unknown(), *controls, *bytes_, *scored({SPACE: -9.0, "a": -9.0} | changes)]


def dumped(pieces: list[ModelPiece], **options: Any) -> bytes:
    normalizer = {"add_dummy_prefix": True} | options
    return dump_llama2c(
        parse_model(written(pieces, trainer=BPE | {"byte_fallback": True}, normalizer=normalizer))
    )


@pytest.mark.parametrize(
    ("pieces", "options", "message"),
    [
        (pieces_of(), {"remove_extra_whitespaces": True}, "normalizes text"),
        (pieces_of(), {"add_dummy_prefix": False}, "puts a space before every text"),
        ([*pieces_of()[:3], *pieces_of()[4:], pieces_of()[3]], {}, "the 256 byte pieces from id 3 on"),
        ([*pieces_of(), ModelPiece("x", 0.0, PieceType.USER_DEFINED)], {}, "user_defined piece"),
        (pieces_of(**{"aa": -1.0, "\0": -9.0}), {}, "contains a NUL"),
        (pieces_of(b=-1.0, ab=-2.0, bc=-3.0), {}, "'c' in the piece 'bc' is not a piece itself"),
        ([p for p in pieces_of() if p.text != SPACE], {}, "begins every text with the piece of a space"),
        (pieces_of(**{" ": -3.0}), {}, r"are both b' ' to llama2\.c"),
        (
            pieces_of(**{"<": -9.0, "0": -9.0, "x": -9.0, "<0": -2.0, "<0x": -3.0, "<0xa": -4.0}),
            {},
            "would decode the piece '<0xa' as a byte",
        ),
    ],
)
def test_settings_without_a_llama2c_equivalent_are_refused(
    pieces: list[ModelPiece], options: dict[str, Any], message: str
) -> None:
    assert dumped(pieces_of())
    with pytest.raises(ConversionError, match=message):
        dumped(pieces, **options)


@pytest.mark.parametrize("size", [3, 5, 11, 13])
def test_truncated_file_is_refused(size: int) -> None:
    with pytest.raises(ModelFormatError):
        Llama2cTokenizer(dumped(pieces_of())[:size])


def test_token_longer_than_the_stated_maximum_is_refused() -> None:
    data = bytearray(dumped(pieces_of()))
    struct.pack_into("<i", data, 0, 2)
    with pytest.raises(ModelFormatError, match="a token of at most 2 bytes"):
        Llama2cTokenizer(bytes(data))
