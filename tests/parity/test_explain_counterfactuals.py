"""Causes named by explanations are real: without them, the tokenizer itself cuts the text differently."""

from __future__ import annotations

import dataclasses
import json
from functools import cache

import pytest
from support.sentencepiece_models import variant, written
from support.subjects import SPECIAL_TOKENS, Subject
from support.texts import bundled_texts

from tokbench.backends.bpe.kernel import current_kernel
from tokbench.backends.bpe.tokenizer import BpeTokenizer
from tokbench.core.tokens import SpecialPolicy
from tokbench.explain.assembling import explain
from tokbench.explain.causes import (
    BesideAddedToken,
    EarlierMerge,
    Fallback,
    LowerScore,
    NewPreToken,
    NoLongerPiece,
    NoMerge,
)
from tokbench.explain.words import why_word
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.libraries.sentencepiece.models import open_model

WORDS = sorted({word for word in bundled_texts()["parallel/en.txt"].split() if word.isalpha()})[::4][:150]


@cache
def trained(backend: str):
    options = {"vocab_size": 3000} if backend == "wordpiece" else {}
    return Subject(backend, options=options).train()


NO_PATTERN = {"pattern": None, "pattern_name": "none"}


def bpe(*, without=(), adding=(), **options):
    """Build the trained BPE with other merges and other fields of its description."""
    description = trained("bpe").description()
    tokens, merges = (
        list(description.tokens),
        [merge for merge in description.merges if merge[:2] not in without],
    )
    for left, right in adding:
        tokens.append(tokens[left] + tokens[right])
        merges.append((left, right, len(tokens) - 1))
    changed = dataclasses.replace(
        description, tokens=tuple(tokens), merges=tuple(merges), special_tokens={}, **options
    )
    return BpeTokenizer.from_description(changed, name="changed", kernel=current_kernel())


def edges(tokenizer, text):
    return [token.span.start for token in tokenizer.segment(text).tokens]


def causes(tokenizer, words, kind):
    found = [
        (word, boundary)
        for word in words
        for boundary in explain(tokenizer, word).boundaries
        if isinstance(boundary.cause, kind)
    ]
    assert len(found) > 10
    return found


def test_boundary_disappears_without_the_named_merges() -> None:
    for word, boundary in causes(trained("bpe"), WORDS, EarlierMerge)[:80]:
        named = {(rule.left.id, rule.right.id) for rule in boundary.cause.by}
        assert boundary.offset in edges(trained("bpe"), word)
        assert boundary.offset not in edges(bpe(without=named), word)


def test_split_changes_with_the_missing_merge() -> None:
    for word, boundary in causes(trained("bpe"), WORDS, NoMerge)[:40]:
        pair = boundary.cause.left.id, boundary.cause.right.id
        assert edges(bpe(adding=[pair]), word) != edges(trained("bpe"), word)


def test_named_merges_make_a_word_one_token() -> None:
    tokenizer = trained("bpe")
    for word in WORDS[:40]:
        answer = why_word(explain(tokenizer, word))
        made = {symbol.data: symbol.id for symbol in answer.tokens}
        number, adding = len(tokenizer.description().tokens), []
        for left, right in answer.merges:
            adding.append((made[left], made[right]))
            made[left + right] = number
            number += 1
        assert len(bpe(adding=adding).encode(word)) == 1


def test_wordpiece_splits_differently_with_the_missing_piece() -> None:
    tokenizer = trained("wordpiece")
    for word, boundary in causes(tokenizer, WORDS, NoLongerPiece)[:40]:
        document = json.loads(tokenizer.document)
        vocab = document["model"]["vocab"]
        vocab[boundary.cause.missing] = max(vocab.values()) + 1
        changed = HuggingFaceTokenizer(json.dumps(document).encode(), name="changed", backend="wordpiece")
        assert edges(changed, word) != edges(tokenizer, word)


def test_merge_crosses_the_boundary_without_the_pattern() -> None:
    checked = 0
    for line, boundary in causes(trained("bpe"), [bundled_texts()["parallel/en.txt"][:400]], NewPreToken):
        left, right = trained("bpe").segment(line).tokens[boundary.token - 1 : boundary.token + 1]
        text, pair = (left.piece + right.piece).decode(), (left.id, right.id)
        if isinstance(explain(trained("bpe"), text).boundaries[0].cause, NewPreToken):
            checked += 1
            assert len(bpe(adding=[pair]).encode(text)) == 2
            assert len(left.piece) not in edges(bpe(adding=[pair], **NO_PATTERN), text)
    assert checked > 10


def test_boundary_at_an_added_token_disappears_without_it() -> None:
    text = f"no{SPECIAL_TOKENS[0]}s"
    boundaries = explain(trained("bpe"), text, special=SpecialPolicy.ENCODE).boundaries
    beside = [boundary.offset for boundary in boundaries if isinstance(boundary.cause, BesideAddedToken)]
    assert beside == [2, len(text) - 1]
    assert not set(beside) & set(edges(bpe(adding=joining(text), **NO_PATTERN), text))


def joining(text):
    """Return merges that join a text to one token without a pattern: each token with all before it."""
    tokens = [token.id for token in bpe(**NO_PATTERN).segment(text).tokens]
    number = len(trained("bpe").description().tokens)
    return [
        (tokens[0] if place == 0 else number + place - 1, right) for place, right in enumerate(tokens[1:])
    ]


def sentencepiece(name, *, scores=(), without=()):
    """Build a trained SentencePiece model with other scores, without some pieces, and with additional ones."""
    model, scores = variant(name).model, dict(scores)
    pieces = [
        piece._replace(score=scores.get(piece.text, piece.score))
        for piece in model.pieces
        if piece.text not in without
    ]
    known = {piece.text for piece in pieces}
    pieces += [
        ModelPiece(text, score, PieceType.NORMAL) for text, score in scores.items() if text not in known
    ]
    trainer = {key: model.trainer[key] for key in ("model_type", "unk_id", "bos_id", "eos_id", "pad_id")}
    normalizer = {
        key: model.normalizer[key]
        for key in ("name", "add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
    }
    trainer["byte_fallback"] = model.trainer["byte_fallback"]
    return open_model(written(pieces, trainer=trainer, normalizer=normalizer), name="changed")


def unigram(scores):
    """Build the trained Unigram with other scores, and with additional pieces."""
    return sentencepiece("unigram without bytes", scores=scores)


def test_sentencepiece_merges_across_the_boundary_without_the_named_pieces() -> None:
    tokenizer = variant("bpe")
    for word, boundary in causes(tokenizer, WORDS, EarlierMerge)[:40]:
        named = {rule.merged.data.decode() for rule in boundary.cause.by}
        if (
            boundary.offset == 0
        ):  # after the space that is put in front of a text, where a token begins in any case
            continue
        assert boundary.offset not in edges(sentencepiece("bpe", without=named), word)


def test_sentencepiece_merges_with_the_missing_piece() -> None:
    tokenizer = variant("bpe")
    for word, boundary in causes(tokenizer, WORDS, NoMerge)[:40]:
        joined = (boundary.cause.left.data + boundary.cause.right.data).decode()
        changed = sentencepiece("bpe", scores={joined: -1e6})
        assert edges(changed, word) != edges(tokenizer, word)


@pytest.mark.parametrize("name", ["bpe", "unigram"])
def test_character_with_its_own_piece_is_not_spelled_in_bytes(name: str) -> None:
    inside = [
        boundary
        for boundary in explain(variant(name), "日").boundaries
        if isinstance(boundary.cause, Fallback)
    ]
    assert [split.cause.character for split in inside] == ["日", "日"]
    changed = sentencepiece(name, scores={"日": -5.0})
    assert len(changed.encode("日")) == len(variant(name).encode("日")) - 2


def test_unigram_splits_differently_with_a_better_piece() -> None:
    tokenizer = variant("unigram without bytes")
    assert unigram({}).encode(WORDS[0]) == tokenizer.encode(WORDS[0])
    checked = 0
    for word, boundary in causes(tokenizer, WORDS, LowerScore):
        cause = boundary.cause
        if cause.piece is None or cause.margin is None or checked > 30:
            continue
        checked += 1
        piece = cause.piece.data.decode()
        score = next(entry.score for entry in tokenizer.model.pieces if entry.text == piece)
        assert edges(unigram({piece: score + cause.margin + 0.01}), word) != edges(tokenizer, word)
    assert checked > 10


@pytest.mark.parametrize("word", WORDS[:10])
def test_word_with_the_named_score_is_one_piece(word: str) -> None:
    tokenizer = variant("unigram without bytes")
    answer = why_word(explain(tokenizer, word))
    if answer.piece is None:
        assert len(answer.tokens) == 1
        return
    assert len(unigram({answer.piece: answer.score + 0.01}).encode(word)) == 1
