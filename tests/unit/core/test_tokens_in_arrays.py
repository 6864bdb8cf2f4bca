"""Tests for tokens in arrays: the sequence equals the tuple of its tokens in every respect."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tokbench
from tokbench.core.graphemes import cut_clusters
from tokbench.core.tokens import Encoded, EncodedSpans, Segmentation, Span, Token, TokenKind
from tokbench.core.tokens_in_arrays import TokensInArrays, segment_as_read

PIECES = {7: b"a", 8: b"\xc3", 9: b"\xa9", 10: b"<s>"}
TOKENS = (
    Token(7, b"a", Span(0, 1), TokenKind.NORMAL),
    Token(8, b"\xc3", Span(1, 2), TokenKind.BYTE),
    Token(9, b"\xa9", Span(2, 3), TokenKind.BYTE),
    Token(10, b"<s>", Span(3, 3), TokenKind.SPECIAL),
)


def in_arrays() -> TokensInArrays:
    ids = np.array([7, 8, 9, 10], np.uint32)
    spans = EncodedSpans(
        encoded=Encoded(ids=ids, offsets=np.array([0, 4])),
        starts=np.array([0, 1, 2, 3]),
        stops=np.array([1, 2, 3, 3]),
        kinds=np.array([0, 1, 1, 3], np.uint8),
    )
    return TokensInArrays(spans, PIECES.__getitem__)


def test_sequence_equals_the_tuple() -> None:
    tokens = in_arrays()
    assert tuple(tokens) == TOKENS
    assert tokens == TOKENS
    assert tokens == TOKENS
    assert tokens == in_arrays()
    assert tokens != TOKENS[:3]
    assert tokens != (*TOKENS[:3], TOKENS[0])
    assert hash(tokens) == hash(TOKENS)
    assert Segmentation("aé", tokens) == Segmentation("aé", TOKENS)
    assert repr(Segmentation("aé", tokens)) == repr(Segmentation("aé", TOKENS))


def test_items_and_slices_are_tokens() -> None:
    tokens = in_arrays()
    assert [tokens[index] for index in range(-4, 4)] == [*TOKENS, *TOKENS]
    assert tokens[1:3] == TOKENS[1:3]
    assert tokens[::-2] == TOKENS[::-2]
    with pytest.raises(IndexError):
        tokens[4]


def test_pickle_holds_the_tokens() -> None:
    assert pickle.loads(pickle.dumps(Segmentation("aé", in_arrays()))) == Segmentation("aé", TOKENS)


def test_edges_are_those_of_tokens_that_cover_text() -> None:
    assert in_arrays().edges() == [0, 1, 2, 3]
    spans = EncodedSpans(
        encoded=Encoded(ids=np.array([7, 10], np.uint32), offsets=np.array([0, 2])),
        starts=np.array([0, 1]),
        stops=np.array([3, 1]),
        kinds=np.array([0, 3], np.uint8),
    )
    assert TokensInArrays(spans, PIECES.__getitem__).edges() == [0, 3]
    assert cut_clusters(Segmentation("aé", in_arrays())) == cut_clusters(Segmentation("aé", TOKENS))


def test_long_text_equals_its_segmentation() -> None:
    tokenizer = tokbench.train(["low lower lowest"] * 9, vocab_size=262)
    text = "low lowest é " * 1000
    assert isinstance(segment_as_read(tokenizer, text, long=len(text)).tokens, TokensInArrays)
    assert segment_as_read(tokenizer, text, long=len(text)) == tokenizer.segment(text)
    assert isinstance(segment_as_read(tokenizer, text).tokens, tuple)
