"""Scores of a Unigram: when two libraries compute the same sums, and which differences rounding explains."""

from __future__ import annotations

import pytest
import sentencepiece
from support.sentencepiece_models import scored, training_text, unknown, written

import tokbench
from tokbench.errors import ConfigError
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.formats.sentencepiece.unigram_scores import (
    STEP,
    caused_by_rounding,
    exact_sums,
    normal_scores,
    rounded,
    why_inexact,
    with_rounded_scores,
)


@pytest.mark.parametrize(
    ("scores", "step"),
    [
        ({"a": -3.0, "b": -1.5}, 0.5),
        ({"a": -3.0, "b": -4.0}, 1.0),
        ({"a": -3.0, "b": -1 / 32}, 1 / 32),
        ({"a": 0.0, "b": -10.0}, 2.0),
    ],
)
def test_step_is_the_largest_divisor_of_all_scores(scores: dict[str, float], step: float) -> None:
    sums = exact_sums(scores)
    assert sums is not None
    assert sums.step == step


@pytest.mark.parametrize(
    ("scores", "why"),
    [
        ({"a": -1.1, "b": -2.0}, "such as -1.1, are no multiples"),
        ({"a": -1e-30}, "such as -1e-30"),
        ({"a": -(2.0**23), "b": -0.5}, "so large that single precision rounds"),
        ({"a": -9.0, "b" * 60_000: -1 / 32}, "so large"),
    ],
)
def test_inexact_scores_are_explained(scores: dict[str, float], why: str) -> None:
    assert exact_sums(scores) is None
    assert why in why_inexact(scores)


def test_without_scores_nothing_is_exact() -> None:
    assert exact_sums({}) is None


def test_longest_exact_text_follows_from_single_precision() -> None:
    sums = exact_sums({"a": -15.0, "b": -1 / 32})
    assert sums is not None
    assert sums.longest == 2**19 // 25 - 1  # an unknown character costs 25
    assert f"up to {sums.longest:,} characters" in sums.sentence


def test_round_scores_changes_only_the_scores() -> None:
    rounded_, bare = (
        tokbench.train(training_text(), backend="unigram", vocab_size=600, round_scores=choice)
        for choice in (True, False)
    )
    assert rounded_.proto == with_rounded_scores(bare.proto)  # type: ignore[attr-defined]
    before, after = (parse_model(model.proto) for model in (bare, rounded_))  # type: ignore[attr-defined]
    assert [piece._replace(score=0.0) for piece in before.pieces] == [
        piece._replace(score=0.0) for piece in after.pieces
    ]
    assert exact_sums(normal_scores(before.pieces)) is None
    sums = exact_sums(normal_scores(after.pieces))
    assert sums is not None
    assert sums.step == STEP
    largest = max(
        abs(one.score - other.score) for one, other in zip(before.pieces, after.pieces, strict=True)
    )
    assert 0 < largest <= STEP / 2


def test_round_scores_is_refused_for_other_algorithms() -> None:
    with pytest.raises(ConfigError, match="round_scores"):
        tokbench.train(["a b c"], backend="sentencepiece", round_scores=True)


def test_library_opens_the_rounded_model() -> None:
    proto = written([unknown(), ModelPiece("<s>", 0.0, PieceType.CONTROL), *scored({"a": -1.11, "▁": -2.0})])
    after = with_rounded_scores(proto)
    assert [piece.score for piece in parse_model(after).pieces] == [0.0, 0.0, rounded(-1.11), -2.0]
    assert sentencepiece.SentencePieceProcessor(model_proto=after).encode("aa") == [3, 2, 2]


# --- what rounding explains -------------------------------------------------------------------

PIECES = [
    unknown(),
    *scored({"a": -1.0, "b": -1.0, "ab": -2.0, "abc": -3.5, "c": -1.0, "bc": -2.0 - 1e-7, "x": -9.0}),
]
A, B, AB, ABC, C, BC, X = range(1, 8)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([A, B], [A, B], True),
        ([A, B], [AB], True),
        ([A, B, C], [A, BC], True),
        ([X, AB, C, X], [X, A, BC, X], True),
        ([AB, C], [ABC], False),  # half a nat is not rounding
        ([A, B, X, AB, C], [AB, X, ABC], False),
        ([A, B], [A, C], False),  # another text
        ([A, B], [A], False),
        ([A, 0], [A, 0], True),
        ([A, 0], [A, C], False),  # an unknown token must be unknown to both
    ],
)
def test_differences_caused_by_rounding_are_distinguished(
    first: list[int], second: list[int], expected: bool
) -> None:
    assert caused_by_rounding(first, second, PIECES) is expected
    assert caused_by_rounding(second, first, PIECES) is expected
