"""Tests for `HuggingFaceTokenizer`: the ids are the library's, spans and special-token policies are ours."""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from support.huggingface import (
    DOCUMENTS,
    added,
    byte_fallback,
    byte_level,
    document,
    dump,
    unigram,
    word_level,
    wordpiece,
)
from support.texts import texts

from tokbench.core.capabilities import SupportsTemplate
from tokbench.core.descriptions import HuggingFaceModel
from tokbench.core.tokens import Span, SpecialPolicy, TokenKind
from tokbench.errors import ConversionError, ModelFormatError, SpecialTokenError
from tokbench.libraries.huggingface.decoding import JoinedPieces, joined_pieces
from tokbench.libraries.huggingface.offsets import byte_offsets, own_spans
from tokbench.libraries.huggingface.pieces import piece_spelling
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.libraries.huggingface.tokenizer_json import is_lossless, special_contents

MARKED = ["<unk>", "<s>", "</s>", "[UNK]", "[CLS]", "[SEP]"]
marked_texts = st.lists(texts | st.sampled_from(MARKED), max_size=4).map("".join)


@cache
def opened(data: bytes) -> HuggingFaceTokenizer:
    return HuggingFaceTokenizer(data, name="mine", backend="huggingface")


@pytest.fixture(scope="module", params=DOCUMENTS)
def data(request: pytest.FixtureRequest) -> bytes:
    return DOCUMENTS[request.param]()


@pytest.fixture(scope="module")
def tokenizer(data: bytes) -> HuggingFaceTokenizer:
    return opened(data)


@pytest.fixture(scope="module")
def peer(data: bytes) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_buffer(data)


# Ids


@given(text=marked_texts)
def test_encoding_with_special_tokens_equals_the_librarys(
    tokenizer: HuggingFaceTokenizer, peer: tokenizers.Tokenizer, text: str
) -> None:
    expected = peer.encode(text, add_special_tokens=False).ids
    assert tokenizer.encode(text, special=SpecialPolicy.ENCODE) == expected
    assert tokenizer.segment(text, special=SpecialPolicy.ENCODE).ids == expected
    assert tokenizer.encode_batch([text], special=SpecialPolicy.ENCODE).ids.tolist() == expected


@given(text=texts.filter(lambda text: not any(mark in text for mark in MARKED)))
def test_encoding_without_special_tokens_equals_the_librarys(
    tokenizer: HuggingFaceTokenizer, peer: tokenizers.Tokenizer, text: str
) -> None:
    assert tokenizer.encode(text) == peer.encode(text, add_special_tokens=False).ids


@given(text=marked_texts)
def test_special_tokens_are_ordinary_text_by_default(tokenizer: HuggingFaceTokenizer, text: str) -> None:
    specials = set(tokenizer.info.special_tokens.values())
    segmentation = tokenizer.segment(text)
    assert specials.isdisjoint(segmentation.ids)
    assert segmentation.ids == tokenizer.encode(text)
    assert all(token.kind is not TokenKind.SPECIAL for token in segmentation.tokens)


@pytest.mark.parametrize("make", [unigram, word_level])
def test_encode_special_tokens_of_the_library_does_not_suffice(make: object) -> None:
    data = make()  # type: ignore[operator]
    peer = tokenizers.Tokenizer.from_buffer(data)
    peer.encode_special_tokens = True
    assert 2 in peer.encode("</s>", add_special_tokens=False).ids  # still found in the vocabulary
    assert 2 not in opened(data).encode("</s>")


def test_special_token_of_one_letter_is_text_by_default() -> None:
    document = json.loads(byte_level())
    document["added_tokens"].append(added("!", document["model"]["vocab"]["!"]))
    tokenizer = opened(dump(document))
    assert tokenizer.info.lossless
    assert tokenizer.decode(tokenizer.encode("a!")) == "a!"
    assert [token.kind for token in tokenizer.segment("a!").tokens] == [TokenKind.NORMAL, TokenKind.NORMAL]
    ended = tokenizer.segment("a!", special=SpecialPolicy.ENCODE).tokens
    assert [token.kind for token in ended] == [TokenKind.NORMAL, TokenKind.SPECIAL]


def test_merges_do_not_produce_a_special_token() -> None:
    vocab = {piece: id for id, piece in enumerate(["<", "s", ">", "<s", "<s>"])}
    merging = document(
        {"type": "BPE", "vocab": vocab, "merges": ["< s", "<s >"]}, added_tokens=[added("<s>", 4)]
    )
    assert opened(dump(merging)).encode("<s>") == [3, 2]
    assert opened(dump(merging)).encode("<s>", special=SpecialPolicy.ENCODE) == [4]


def test_text_that_needs_a_missing_unknown_token_is_refused() -> None:
    model = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "[UNK]"}
    tokenizer = opened(dump(document(model, pre_tokenizer={"type": "Whitespace"})))
    assert tokenizer.encode("a a") == [0, 0]
    for fails in (tokenizer.encode, tokenizer.segment, lambda text: tokenizer.encode_batch([text])):
        with pytest.raises(
            ModelFormatError, match="an unknown token in the vocabulary, because a text has"
        ) as raised:
            fails("a b")
        assert "only texts of its words and characters" in str(raised.value.hint)


def test_text_that_needs_the_unknown_id_of_a_unigram_is_refused() -> None:
    """The vocabulary can have a token called [UNK] that the model does not use."""
    model = {
        "type": "Unigram",
        "unk_id": None,
        "vocab": [["[UNK]", 0.0], ["a", -1.0]],
        "byte_fallback": False,
    }
    tokenizer = opened(dump(document(model)))
    assert tokenizer.encode("aa") == [1, 1]
    with pytest.raises(ModelFormatError, match="expected an id of the unknown token \\(unk_id\\)") as raised:
        tokenizer.encode("ab")
    assert str(raised.value.hint).endswith("or set unk_id to the id of its unknown token")


def test_added_tokens_that_are_not_special_match_in_every_text() -> None:
    document = json.loads(byte_level())
    document["added_tokens"].append(added("def f", 600, special=False))
    tokenizer = opened(dump(document))
    token = tokenizer.segment("x def f(").tokens[2]
    assert (token.id, token.piece, token.span, token.kind) == (600, b"def f", Span(2, 7), TokenKind.NORMAL)
    assert tokenizer.info.special_tokens == {"<s>": 0, "</s>": 1}
    assert tokenizer.info.lossless


def test_truncation_padding_and_dropout_of_the_file_are_ignored() -> None:
    document = json.loads(byte_level())
    document["truncation"] = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    document["padding"] = {
        "strategy": {"Fixed": 9},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "<s>",
    }
    document["model"]["dropout"] = 0.9
    tokenizer, plain = opened(dump(document)), opened(byte_level())
    for text in ("the", "the bread and the butter"):
        assert tokenizer.encode(text) == plain.encode(text)


# Spans, kinds and pieces


@given(text=marked_texts, special=st.sampled_from([SpecialPolicy.TEXT, SpecialPolicy.ENCODE]))
def test_spans_are_ordered_disjoint_and_in_range(
    tokenizer: HuggingFaceTokenizer, text: str, special: SpecialPolicy
) -> None:
    spans = [token.span for token in tokenizer.segment(text, special=special).tokens]
    assert all(
        one.start <= one.stop <= other.start for one, other in pairwise([*spans, Span(len(text.encode()), 0)])
    )


@given(text=marked_texts)
def test_tokens_of_a_lossless_tokenizer_partition_the_text(text: str) -> None:
    tokenizer, data = opened(byte_level()), text.encode()
    tokens = tokenizer.segment(text).tokens
    assert all(token.piece == data[token.span.start : token.span.stop] for token in tokens)
    assert b"".join(token.piece for token in tokens) == data == tokenizer.decode_bytes(tokenizer.encode(text))


def test_each_byte_of_a_byte_fallback_has_its_own_span() -> None:
    tokens = opened(byte_fallback()).segment("ab €é").tokens
    assert [(token.piece, token.span, token.kind) for token in tokens] == [
        (b" ab", Span(0, 2), TokenKind.NORMAL),
        (b" ", Span(2, 3), TokenKind.NORMAL),
        (b"\xe2", Span(3, 4), TokenKind.BYTE),
        (b"\x82", Span(4, 5), TokenKind.BYTE),
        (b"\xac", Span(5, 6), TokenKind.BYTE),
        ("é".encode(), Span(6, 8), TokenKind.NORMAL),
    ]


def test_prefix_piece_has_an_empty_span() -> None:
    tokens = opened(unigram()).segment("é 안the ﬁ").tokens
    assert [(token.piece, token.span, token.kind) for token in tokens] == [
        (b" ", Span(0, 0), TokenKind.NORMAL),
        ("é".encode(), Span(0, 2), TokenKind.NORMAL),
        (b" ", Span(2, 3), TokenKind.NORMAL),
        (b"<unk>", Span(3, 6), TokenKind.UNKNOWN),
        (b"t", Span(6, 7), TokenKind.NORMAL),
        (b"h", Span(7, 8), TokenKind.NORMAL),
        (b"e", Span(8, 9), TokenKind.NORMAL),
        (b" ", Span(9, 10), TokenKind.NORMAL),
        (b"fi", Span(10, 13), TokenKind.NORMAL),
    ]


def test_unknown_and_special_tokens_have_different_kinds() -> None:
    tokenizer = opened(wordpiece())
    tokens = tokenizer.segment("☃ [SEP] [UNK]", special=SpecialPolicy.ENCODE).tokens
    unknown, sep = TokenKind.UNKNOWN, TokenKind.SPECIAL
    assert [token.kind for token in tokens] == [unknown, sep, unknown]
    assert "[UNK]" not in tokenizer.info.special_tokens
    assert tokenizer.token_id(b"[UNK]") == 1


def test_tokens_are_found_by_bytes_or_by_spelling() -> None:
    tokenizer = opened(wordpiece())
    vocabulary = json.loads(wordpiece())["model"]["vocab"]
    assert tokenizer.token_bytes(vocabulary["##er"]) == b"er"
    assert tokenizer.token_id(b"##er") == vocabulary["##er"]
    assert tokenizer.token_id(b"e") == vocabulary["e"]  # not ##e
    fallback = opened(byte_fallback())
    assert fallback.token_bytes(3 + 0xE2) == b"\xe2"
    assert fallback.token_id(b" ab") == json.loads(byte_fallback())["model"]["vocab"]["▁ab"]


@pytest.mark.parametrize("text", ["", "a", "é€", "a😀é", "\u0301"])
def test_byte_offsets_follow_the_characters(text: str) -> None:
    assert list(byte_offsets(text)) == [len(text[:end].encode()) for end in range(len(text) + 1)]


def test_rewritten_character_belongs_to_its_last_token() -> None:
    # "한" as three jamo, none of which is in the text
    pieces = ["ᄒ".encode(), "ᅡ".encode(), "ᆫ".encode()]
    assert own_spans("한".encode(), [(0, 3)] * 3, pieces) == [Span(0, 0), Span(0, 0), Span(0, 3)]


def test_special_token_of_one_character_outside_the_vocabulary_is_valid() -> None:
    document = json.loads(byte_level())
    size = len(document["model"]["vocab"])
    document["added_tokens"].append(added("☃", size))
    tokenizer = HuggingFaceTokenizer(dump(document), name="snow", backend="bpe")
    assert tokenizer.info.special_tokens["☃"] == size == tokenizer.info.vocab_size - 1
    assert tokenizer.decode(tokenizer.encode("a☃", special=SpecialPolicy.ENCODE)) == "a☃"
    assert size not in tokenizer.encode("a☃")


# Refused special tokens


@pytest.mark.parametrize("call", ["encode", "segment", "encode_batch"])
def test_special_token_raises_if_requested(call: str) -> None:
    tokenizer = opened(unigram())
    argument = ["é</s>"] if call == "encode_batch" else "é</s>"
    with pytest.raises(SpecialTokenError) as caught:
        getattr(tokenizer, call)(argument, special=SpecialPolicy.RAISE)
    assert (caught.value.token, caught.value.span) == ("</s>", Span(2, 6))


def test_special_token_that_the_library_would_not_match_does_not_raise() -> None:
    document = json.loads(word_level())
    document["added_tokens"][2]["single_word"] = True
    tokenizer = opened(dump(document))
    assert tokenizer.encode("a</s>b", special=SpecialPolicy.RAISE) == [0]


# Decoding


@given(text=marked_texts)
def test_decoding_equals_the_librarys(
    tokenizer: HuggingFaceTokenizer, peer: tokenizers.Tokenizer, text: str
) -> None:
    ids = peer.encode(text, add_special_tokens=False).ids
    assert tokenizer.decode(ids) == peer.decode(ids, skip_special_tokens=False)


def test_incomplete_character_keeps_its_bytes() -> None:
    tokenizer = opened(byte_fallback())
    assert tokenizer.decode_bytes([3 + 0xE2, 3 + 0x82]) == b"\xe2\x82"


@pytest.mark.parametrize(
    ("decoder", "expected"),
    [
        ({"type": "ByteLevel"}, JoinedPieces(byte_level=True)),
        (
            {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
            JoinedPieces(byte_fallback=True),
        ),
        ({"type": "WordPiece", "prefix": "##", "cleanup": True}, None),
        ({"type": "Metaspace", "replacement": "▁"}, None),
        (None, None),
        (
            {
                "type": "Sequence",
                "decoders": [
                    {"type": "ByteFallback"},
                    {"type": "Strip", "content": " ", "start": 1, "stop": 0},
                    {"type": "Fuse"},
                ],
            },
            None,  # Strip before Fuse strips each piece
        ),
    ],
)
def test_pieces_are_joined_only_for_known_decoders(
    decoder: dict[str, object] | None, expected: JoinedPieces | None
) -> None:
    assert joined_pieces(document({"type": "BPE", "vocab": {}, "merges": []}, decoder=decoder)) == expected


# Information about the tokenizer


def test_lossless_is_claimed_only_if_certain() -> None:
    whole = json.loads(byte_level())
    vocabulary = whole["model"]["vocab"]
    assert is_lossless(whole, vocabulary)
    spaced = {**whole["pre_tokenizer"], "add_prefix_space": True}
    cutting = {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False}
    both = {"type": "Sequence", "pretokenizers": [cutting, whole["pre_tokenizer"]]}
    for change in (
        {"normalizer": {"type": "NFC"}},
        {"pre_tokenizer": spaced},
        {"pre_tokenizer": both},
        {"pre_tokenizer": None},
        {"added_tokens": [added("x", 700, special=False, lstrip=True)]},
        {"added_tokens": [added("ý", 700, special=False)]},  # decodes to the byte FD
        {"decoder": None},
        {"model": {**whole["model"], "end_of_word_suffix": "</w>"}},
        {"model": {**whole["model"], "type": "WordPiece"}},
    ):
        assert not is_lossless({**whole, **change}, vocabulary), change
    assert is_lossless({**whole, "added_tokens": [added("ý漢", 700, special=False)]}, vocabulary)
    assert not is_lossless(whole, {piece: id for piece, id in vocabulary.items() if piece != "Ġ"})


def test_tokenizer_has_info_and_description(data: bytes) -> None:
    tokenizer = opened(data)
    assert tokenizer.info.kernel == f"tokenizers {tokenizers.__version__}"
    assert tokenizer.info.backend == "huggingface"
    assert tokenizer.description() == HuggingFaceModel(data, tokenizer.info.special_tokens)
    with pytest.raises(ConversionError):
        tokenizer.save("anywhere")


def test_template_is_that_of_the_file() -> None:
    document = json.loads(wordpiece())
    document["post_processor"] = {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}
    tokenizer = opened(dump(document))
    assert isinstance(tokenizer, SupportsTemplate)
    the, bread = tokenizer.encode("the"), tokenizer.encode("bread")
    assert tokenizer.with_template("the") == [2, *the, 3]
    assert tokenizer.with_template("the", "bread") == [2, *the, 3, *bread, 3]
    assert tokenizer.with_template("[SEP]") == [2, *tokenizer.encode("[SEP]"), 3]
    assert tokenizer.with_template("[SEP]", special=SpecialPolicy.ENCODE) == [2, 3, 3]
    with pytest.raises(SpecialTokenError):
        tokenizer.with_template("the", "[SEP]", special=SpecialPolicy.RAISE)


def test_document_parts_are_read_in_every_shape() -> None:
    parts = document(
        {"type": "BPE", "vocab": {}, "merges": [], "end_of_word_suffix": "</w>"},
        added_tokens=[added("a", 1), added("a", 1), added("b", 2, special=False)],
    )
    assert special_contents(parts) == ["a"]
    assert piece_spelling(parts).bytes_of("x</w>") == b"x"
