"""Tests for sequences that are made as they are read, and for explanations that use them."""

from __future__ import annotations

import pickle
from itertools import count, islice
from typing import TYPE_CHECKING

import pytest

import tokbench
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError
from tokbench.explain import assembling
from tokbench.explain.as_read import AsRead, Recomputed
from tokbench.explain.assembling import explain, explain_as_read
from tokbench.explain.byte_level import ByteLevelExplainer
from tokbench.workbench.viz import visualise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.explain.derivation import MergeTrace

TEXT = "low lower lowest " * 20 + "zzz"
SPECIAL = "<|endoftext|>"


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


def test_recomputed_items_are_made_as_far_as_they_are_read_each_time() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in (4, 5, 6):
            made.append(number)
            yield number

    three = Recomputed(items, size=lambda: 3)
    assert three[1] == 5
    assert made == [4, 5]
    assert three[:2] == (4, 5)
    assert made == [4, 5, 4, 5]
    assert three == (4, 5, 6)
    assert made == [4, 5, 4, 5, 4, 5, 6], "comparing takes one pass"


def test_recomputed_sequence_counts_its_items_once() -> None:
    made: list[int] = []
    three = Recomputed(lambda: (made.append(number) or number for number in (4, 5, 6)))  # type: ignore[func-returns-value]
    assert (len(three), len(three)) == (3, 3)
    assert made == [4, 5, 6]
    assert three[-1] == 6
    assert three[::-1] == (6, 5, 4)
    assert hash(three) == hash((4, 5, 6))
    assert pickle.loads(pickle.dumps(three)) == (4, 5, 6)
    with pytest.raises(IndexError):
        three[3]


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The pre-tokens that have been traced, in order."""
    made: list[bytes] = []
    trace = ByteLevelExplainer.trace

    def noted(explainer: ByteLevelExplainer, pretoken: bytes) -> MergeTrace:
        made.append(pretoken)
        return trace(explainer, pretoken)

    monkeypatch.setattr(ByteLevelExplainer, "trace", noted)
    return made


def test_explanation_derives_only_the_steps_that_are_read(traced: list[bytes]) -> None:
    explanation = explain_as_read(tokbench.train([TEXT], vocab_size=262), TEXT)
    assert traced == []
    assert explanation.steps[2].pretoken.text == " lowest"
    assert traced == [b"low", b" lower", b" lowest"]


def test_steps_beside_tokens_are_derived_as_they_are_read(traced: list[bytes]) -> None:
    tokenizer = tokbench.train([TEXT], vocab_size=262)
    [view] = visualise([tokenizer], TEXT, steps=True, as_read=True).views
    assert traced == []
    assert view.explanation is not None
    assert view.explanation.steps[0].pretoken.text == "low"
    assert traced == [b"low"]
    assert view.explanation == explain(tokenizer, TEXT)


@pytest.mark.parametrize("backend", ["bpe", "wordpiece", "unigram", "sentencepiece"])
def test_explanation_as_read_equals_the_explanation(backend: str) -> None:
    special = {"bpe": SPECIAL, "wordpiece": "[SEP]", "unigram": "<s>", "sentencepiece": "<s>"}[backend]
    options = {"special_tokens": [SPECIAL]} if backend == "bpe" else {}
    tokenizer = tokbench.train([TEXT], backend=backend, vocab_size=290, **options)
    text = f"low É{special} lower é {special}{TEXT}"
    whole = explain(tokenizer, text, special=SpecialPolicy.ENCODE)
    as_read = explain_as_read(tokenizer, text, special=SpecialPolicy.ENCODE)
    assert as_read == whole
    assert as_read == whole, "it can be read again"


def test_equal_steps_of_an_explanation_share_their_trace() -> None:
    tokenizer = tokbench.train([TEXT], vocab_size=262, special_tokens=[SPECIAL])
    steps = explain(tokenizer, f"low lower{SPECIAL}low lower", special=SpecialPolicy.ENCODE).steps
    assert [step.pretoken.text for step in steps] == ["low", " lower", SPECIAL, "low", " lower"]
    assert steps[0].trace is steps[3].trace
    assert steps[1].trace is steps[4].trace


def test_text_with_tokens_but_without_steps_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = tokbench.train([TEXT], vocab_size=256)
    monkeypatch.setattr(assembling, "derivation_of", lambda *_, **__: tokenizer.derivation(""))
    with pytest.raises(ConfigError, match="give 0 tokens instead of its 9"):
        explain(tokenizer, "low lower")


def test_step_with_as_many_other_ids_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = tokbench.train([TEXT], vocab_size=256)
    monkeypatch.setattr(assembling, "derivation_of", lambda *_, **__: tokenizer.derivation("lob lower"))
    with pytest.raises(ConfigError, match="the steps known here give other tokens"):
        explain_as_read(tokenizer, "low lower").steps[0]


def test_step_with_other_ids_is_refused_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    other = tokbench.train(["zzz " * 20], vocab_size=258)
    monkeypatch.setattr(
        assembling, "derivation_of", lambda _, segmentation, **__: other.derivation(segmentation.text)
    )
    tokenizer = tokbench.train([TEXT], vocab_size=256)
    with pytest.raises(ConfigError, match="cannot be explained step by step: the steps known here give"):
        explain(tokenizer, TEXT)
    explanation = explain_as_read(tokenizer, TEXT)
    assert len(explanation.steps) == 61
    assert explanation.steps[59].pretoken.text == " lowest"
    with pytest.raises(ConfigError, match=r"give \d+ tokens instead of its \d+"):
        explanation.steps[60]
