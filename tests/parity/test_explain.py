"""Explanations end at the ids of `encode`, for every algorithm and every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from support.places import SHARED
from support.sentencepiece_models import VARIANTS, scored, unknown, variant, written
from support.subjects import SPECIAL_TOKENS, Subject
from support.texts import bundled_texts, texts

import tokbench
from tokbench.core.tokens import SpecialPolicy
from tokbench.explain.assembling import explain, explain_as_read
from tokbench.formats.sentencepiece.model import ModelType
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.libraries.sentencepiece.models import open_model

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer
    from tokbench.explain.derivation import Explanation

WORDPIECE = Subject("wordpiece", options={"vocab_size": 3000})
SUBJECTS = [
    Subject("bpe"),
    Subject("bpe", options={"pattern": "qwen2"}),
    Subject("bpe", options={"pattern": "none"}),
    Subject("bpe", options={"pattern": r"\w+|\W+"}),
    WORDPIECE,
    Subject("byte"),
    Subject("char"),
    Subject("word"),
]
REAL = [
    "bert-base-uncased/tokenizer.json",
    "clip/tokenizer.json",
    "falcon/tokenizer.json",
    "gguf/ggml-vocab-mpt.gguf",
    "gpt2/tokenizer.json",
    "mistral/tokenizer.model.v1",
    "openai/cl100k_base.tiktoken",
    "phi-2",
    "t5-base",
    "t5-small",
]
EDGE = [
    part
    for name, text in sorted(bundled_texts().items())
    if name.startswith("edge")
    for part in (text[:300], *text.splitlines()[:10])
]
MORE = ["", " ", "▁x ▁", "don't STOP's", "ab" * 50, "e\u0301 Å ﬁ", "<s> </s> [UNK] <|endoftext|> 日<unk>本"]


def trained(subject: str) -> Tokenizer:
    return next(candidate for candidate in SUBJECTS if str(candidate) == subject).trained


def check(tokenizer: Tokenizer, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> None:
    explanation = explain(tokenizer, text, special=special)
    ids = [symbol.id for step in explanation.steps for symbol in step.trace.tokens]
    assert ids == tokenizer.encode(text, special=special)
    assert len(explanation.boundaries) == max(len(ids) - 1, 0)
    assert [boundary.token for boundary in explanation.boundaries] == list(range(1, len(ids)))


def check_texts(tokenizer: Tokenizer, *, every: int) -> None:
    for text in (*EDGE[::every], *MORE):
        check(tokenizer, text)


@pytest.mark.parametrize("subject", [str(subject) for subject in SUBJECTS])
def test_every_trained_tokenizer_is_explained(subject: str) -> None:
    check_texts(trained(subject), every=4)


@pytest.mark.parametrize("name", VARIANTS)
def test_sentencepiece_is_explained(name: str) -> None:
    check_texts(variant(name), every=4)


@pytest.mark.parametrize("name", VARIANTS)
def test_sentencepiece_is_explained_as_it_is_read(name: str) -> None:
    tokenizer = variant(name)
    for text in (*EDGE[::8], *MORE):
        for special in (SpecialPolicy.TEXT, SpecialPolicy.ENCODE):
            as_read = explain_as_read(tokenizer, text, special=special)
            assert as_read == explain(tokenizer, text, special=special)


@pytest.mark.parametrize("subject", [str(subject) for subject in SUBJECTS])
@given(text=texts)
def test_any_text_is_explained(subject: str, text: str) -> None:
    check(trained(subject), text)


@pytest.mark.parametrize("name", ["bpe", "unigram", "unigram as t5", "bpe with symbols"])
@given(text=texts)
def test_any_text_is_explained_for_sentencepiece(name: str, text: str) -> None:
    check(variant(name), text)


@pytest.mark.parametrize("unused", ["b", "▁", "ab", "b▁"])
@pytest.mark.parametrize("has_bytes", [False, True])
@pytest.mark.parametrize("model_type", [ModelType.BPE, ModelType.UNIGRAM])
def test_sentencepiece_with_unused_pieces_is_explained(
    model_type: ModelType, unused: str, *, has_bytes: bool
) -> None:
    byte_pieces = [ModelPiece(f"<0x{byte:02X}>", 0.0, PieceType.BYTE) for byte in range(256)]
    proto = written(
        [
            unknown(),
            *(
                piece
                for piece in scored({"▁": -1.0, "a": -2.0, "b": -3.0, "aba": -4.0})
                if piece.text != unused
            ),
            ModelPiece(unused, -0.5, PieceType.UNUSED),
            *(byte_pieces if has_bytes else []),
        ],
        trainer={"model_type": model_type, "byte_fallback": has_bytes},
    )
    for text in ("abba", "b b中 中b", "中 b ▁", "aba ab ab"):
        check(open_model(proto, name="mine"), text)


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["auto", "library"])
@pytest.mark.parametrize("name", REAL)
def test_real_vocabularies_are_explained(name: str, engine: str) -> None:
    path = SHARED / "vocab" / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    tokenizer = tokbench.load(path, engine=engine)
    check_texts(tokenizer, every=2)
    for text in MORE:
        check(tokenizer, text, special=SpecialPolicy.ENCODE)


def test_text_of_the_unknown_token_is_a_separate_step_where_it_is_found() -> None:
    wordpiece = WORDPIECE.trained
    for text, found in [("a [UNK] b", 1), ("日本a[UNK][UNK]日", 2), ("[UNK]", 1), ("日本", 0)]:
        steps = explain(wordpiece, text, special=SpecialPolicy.ENCODE).steps
        assert [step.pretoken.text for step in steps if step.pretoken.added] == ["[UNK]"] * found
        ids = [symbol.id for step in steps for symbol in step.trace.tokens]
        assert ids == wordpiece.encode(text, special=SpecialPolicy.ENCODE)
    assert not any(step.pretoken.added for step in explain(wordpiece, "a [UNK] b").steps)


def test_special_tokens_are_separate_steps() -> None:
    tokenizer = trained("bpe")
    text = f"a{SPECIAL_TOKENS[0]} b"
    explanation: Explanation = explain(tokenizer, text, special=SpecialPolicy.ENCODE)
    assert [step.pretoken.added for step in explanation.steps] == [False, True, False]
    assert [token.id for token in explanation.tokens] == tokenizer.encode(text, special=SpecialPolicy.ENCODE)
