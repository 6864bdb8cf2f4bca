"""Tokenizers that are trained to be compared: their sizes, and which are left out."""

from __future__ import annotations

import pytest
from support.toys import documents_of

from tokbench.errors import ConfigError, TrainingError
from tokbench.evaluation.alignment import NO_TRANSLATIONS
from tokbench.evaluation.candidates import train_candidates
from tokbench.evaluation.holdout import Holdout


def holdout_of(text: str) -> Holdout:
    return Holdout([text], documents_of(text), "documents", 1, len(text.encode()), NO_TRANSLATIONS)


TEXT = " ".join(f"{first}{rest}" for first in "abcdefghij" for rest in ["lo", "wer", "ing", "est", "ly"] * 3)


def test_trained_candidates_share_a_size_that_baselines_do_not() -> None:
    trained = train_candidates(holdout_of(TEXT), backends=("bpe", "wordpiece"), vocab_size=290)
    infos = [candidate.tokenizer.info for candidate in trained.candidates]
    sizes = {info.backend: info.vocab_size for info in infos}
    assert list(sizes) == ["bpe", "wordpiece", "byte", "char"]
    assert sizes["bpe"] == trained.vocab_size == 290
    assert sizes["byte"] == 256
    assert all(candidate.training_bytes == len(TEXT) for candidate in trained.candidates)


def test_vocabulary_size_has_a_minimum() -> None:
    trained = train_candidates(holdout_of(TEXT), backends=("bpe",), baselines=())
    assert trained.vocab_size == 512
    assert trained.candidates[0].tokenizer.info.vocab_size < trained.vocab_size


def test_size_below_the_base_skips_an_algorithm_or_is_refused() -> None:
    trained = train_candidates(holdout_of(TEXT), backends=("bpe", "sentencepiece"), vocab_size=300)
    assert set(trained.left_out) <= {"sentencepiece"}
    with pytest.raises((ConfigError, TrainingError)):
        train_candidates(holdout_of(TEXT), backends=("sentencepiece",), vocab_size=3)


def test_a_baseline_is_not_trained_twice() -> None:
    trained = train_candidates(holdout_of(TEXT), backends=("byte", "bpe"), vocab_size=280)
    assert [candidate.tokenizer.info.backend for candidate in trained.candidates] == ["byte", "bpe", "char"]
