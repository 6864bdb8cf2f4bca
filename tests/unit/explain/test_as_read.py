"""Tests for sequences that are made as they are read, and for explanations that use them."""

from __future__ import annotations

import pickle
from itertools import count, islice
from typing import TYPE_CHECKING

import pytest

import tokbench
from tokbench.errors import ConfigError
from tokbench.explain import assembling
from tokbench.explain.as_read import AsRead
from tokbench.explain.assembling import explain, explain_as_read
from tokbench.explain.byte_level import ByteLevelExplainer

if TYPE_CHECKING:
    from tokbench.explain.derivation import MergeTrace

TEXT = "low lower lowest " * 20 + "zzz"


def test_items_are_made_when_they_are_read() -> None:
    numbers = count()
    three = AsRead(3, islice(numbers, 3))
    assert len(three) == 3
    assert three[1] == 1
    assert next(numbers) == 2, "the third item has not been made"


def test_sequence_equals_its_tuple() -> None:
    def three() -> AsRead[int]:
        return AsRead(3, iter([4, 5, 6]))

    assert list(three()) == [4, 5, 6]
    assert three() == (4, 5, 6)
    assert three() != (4, 5)
    assert three() == three()
    assert three()[-1] == 6
    assert three()[1:] == (5, 6)
    assert three()[::-1] == (6, 5, 4)
    assert hash(three()) == hash((4, 5, 6))
    assert repr(three()) == "(4, 5, 6)"
    assert pickle.loads(pickle.dumps(three())) == (4, 5, 6)
    assert list(AsRead(0, iter(()))) == []
    with pytest.raises(IndexError):
        three()[3]


def test_explanation_derives_only_the_steps_that_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[bytes] = []
    trace = ByteLevelExplainer.trace

    def noted(explainer: ByteLevelExplainer, pretoken: bytes) -> MergeTrace:
        traced.append(pretoken)
        return trace(explainer, pretoken)

    monkeypatch.setattr(ByteLevelExplainer, "trace", noted)
    explanation = explain_as_read(tokbench.train([TEXT], vocab_size=262), TEXT)
    assert traced == []
    assert explanation.steps[2].pretoken.text == " lowest"
    assert traced == [b"low", b" lower", b" lowest"]


def test_explanation_as_read_equals_the_explanation() -> None:
    tokenizer = tokbench.train([TEXT], vocab_size=262)
    assert explain_as_read(tokenizer, TEXT) == explain(tokenizer, TEXT)


def test_step_with_as_many_other_ids_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = tokbench.train([TEXT], vocab_size=256)
    monkeypatch.setattr(assembling, "derivation_of", lambda *_: tokenizer.derivation("lob lower"))
    with pytest.raises(ConfigError, match="the steps known here give other tokens"):
        explain_as_read(tokenizer, "low lower").steps[0]


def test_step_with_other_ids_is_refused_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    other = tokbench.train(["zzz " * 20], vocab_size=258)
    monkeypatch.setattr(
        assembling, "derivation_of", lambda _, segmentation: other.derivation(segmentation.text)
    )
    tokenizer = tokbench.train([TEXT], vocab_size=256)
    with pytest.raises(ConfigError, match="cannot be explained step by step: the steps known here give"):
        explain(tokenizer, TEXT)
    explanation = explain_as_read(tokenizer, TEXT)
    assert len(explanation.steps) == 61
    assert explanation.steps[59].pretoken.text == " lowest"
    with pytest.raises(ConfigError, match=r"give \d+ tokens instead of its \d+"):
        explanation.steps[60]
