"""The causes that an explanation names are causes: without them, the tokenizer itself cuts in another way."""

from __future__ import annotations

import dataclasses
import json
from functools import cache

import pytest
from support.sentencepiece_models import variant, written
from support.subjects import Subject
from support.texts import bundled_texts

from tokbench.backends.bpe.kernel import current_kernel
from tokbench.backends.bpe.tokenizer import BpeTokenizer
from tokbench.explain.assembling import explain
from tokbench.explain.causes import EarlierMerge, LowerScore, NoLongerPiece, NoMerge
from tokbench.explain.words import why_word
from tokbench.formats.sentencepiece.model import ModelPiece, PieceType
from tokbench.libraries.huggingface.tokenizer import HuggingFaceTokenizer
from tokbench.libraries.sentencepiece.models import open_model

WORDS = sorted({word for word in bundled_texts()["parallel/en.txt"].split() if word.isalpha()})[::4][:150]


@cache
def trained(backend: str):
    options = {"vocab_size": 3000} if backend == "wordpiece" else {}
    return Subject(backend, options=options).train()


def bpe(*, without=(), adding=()):
    """The trained BPE on our kernel with other merges."""
    description = trained("bpe").description()
    tokens, merges = (
        list(description.tokens),
        [each for each in description.merges if each[:2] not in without],
    )
    for left, right in adding:
        tokens.append(tokens[left] + tokens[right])
        merges.append((left, right, len(tokens) - 1))
    changed = dataclasses.replace(description, tokens=tuple(tokens), merges=tuple(merges), special_tokens={})
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


def test_without_the_named_merges_the_boundary_goes() -> None:
    for word, boundary in causes(trained("bpe"), WORDS, EarlierMerge)[:80]:
        named = {(rule.left.id, rule.right.id) for rule in boundary.cause.by}
        assert boundary.offset in edges(trained("bpe"), word)
        assert boundary.offset not in edges(bpe(without=named), word)


def test_with_the_missing_merge_the_cut_changes() -> None:
    for word, boundary in causes(trained("bpe"), WORDS, NoMerge)[:40]:
        pair = boundary.cause.left.id, boundary.cause.right.id
        assert edges(bpe(adding=[pair]), word) != edges(trained("bpe"), word)


def test_the_merges_that_are_named_make_a_word_one_token() -> None:
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


def test_with_the_missing_piece_wordpiece_cuts_otherwise() -> None:
    tokenizer = trained("wordpiece")
    for word, boundary in causes(tokenizer, WORDS, NoLongerPiece)[:40]:
        document = json.loads(tokenizer.document)
        vocab = document["model"]["vocab"]
        vocab[boundary.cause.missing] = max(vocab.values()) + 1
        changed = HuggingFaceTokenizer(json.dumps(document).encode(), name="changed", backend="wordpiece")
        assert edges(changed, word) != edges(tokenizer, word)


def unigram(scores):
    """The trained Unigram with other scores, and with the pieces that it does not have."""
    model = variant("unigram without bytes").model
    pieces = [piece._replace(score=scores.get(piece.text, piece.score)) for piece in model.pieces]
    known = {piece.text for piece in pieces}
    pieces += [
        ModelPiece(text, score, PieceType.NORMAL) for text, score in scores.items() if text not in known
    ]
    trainer = {key: model.trainer[key] for key in ("model_type", "unk_id", "bos_id", "eos_id", "pad_id")}
    normalizer = {
        key: model.normalizer[key]
        for key in ("name", "add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
    }
    return open_model(written(pieces, trainer=trainer, normalizer=normalizer), name="changed")


def test_with_a_better_piece_across_it_unigram_cuts_otherwise() -> None:
    tokenizer = variant("unigram without bytes")
    assert unigram({}).encode(WORDS[0]) == tokenizer.encode(WORDS[0])
    checked = 0
    for word, boundary in causes(tokenizer, WORDS, LowerScore):
        cause = boundary.cause
        if cause.piece is None or cause.margin is None or checked > 30:
            continue
        checked += 1
        piece = cause.piece.data.decode()
        score = next(each.score for each in tokenizer.model.pieces if each.text == piece)
        assert edges(unigram({piece: score + cause.margin + 0.01}), word) != edges(tokenizer, word)
    assert checked > 10


@pytest.mark.parametrize("word", WORDS[:10])
def test_with_the_named_score_a_word_is_one_piece(word: str) -> None:
    tokenizer = variant("unigram without bytes")
    answer = why_word(explain(tokenizer, word))
    if answer.piece is None:
        assert len(answer.tokens) == 1
        return
    assert len(unigram({answer.piece: answer.score + 0.01}).encode(word)) == 1
