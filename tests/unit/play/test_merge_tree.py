"""Tests for trees of merges, compared with hand-drawn ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.explain.causes import MergeRule, Symbol
from tokbench.explain.derivation import MergeStep, MergeTrace
from tokbench.play.merge_tree import merge_tree
from tokbench.workbench.explain import explain_text

if TYPE_CHECKING:
    from tokbench.play.columns import OpenTokenizer


def tree_of(tokenizer: OpenTokenizer, text: str, *, width: int = 80) -> list[str] | None:
    [step] = explain_text(tokenizer.tokenizer, text).steps
    assert isinstance(step.trace, MergeTrace)
    return merge_tree(step.trace, width=width)


def test_merges_are_drawn_below_their_parts(lower: OpenTokenizer) -> None:
    assert tree_of(lower, " lower") == [
        "·  l  o  w  e  r",
        "│  └0─┘  │  └3─┘",
        "│  └──1──┘",
        "└───2────┘",
    ]


def test_unmerged_symbols_are_drawn_separately(lower: OpenTokenizer) -> None:
    assert tree_of(lower, "xlo") == ["x  l  o", "   └0─┘"]
    assert tree_of(lower, "xyz") == ["x  y  z"]


def test_a_tree_that_does_not_fit_is_not_drawn(lower: OpenTokenizer) -> None:
    assert tree_of(lower, " lower", width=15) is None
    assert tree_of(lower, " lower", width=16) is not None


def test_symbols_are_spaced_for_long_ranks_and_wide_characters() -> None:
    sun, moon, both = Symbol(0, "日".encode()), Symbol(1, "月".encode()), Symbol(2, "日月".encode())
    step = MergeStep(MergeRule(1_234_567, sun, moon, both), 0, 1, 2)
    assert merge_tree(MergeTrace((sun, moon), (step,), (both,), (0, 2), ()), width=80) == [
        "日     月",
        "└1234567┘",
    ]


def test_scores_are_shown_without_their_sign() -> None:
    a, b, ab = Symbol(0, b"a"), Symbol(1, b"b"), Symbol(2, b"ab")
    step = MergeStep(MergeRule(12.0, a, b, ab, by_score=True), 0, 1, 2)
    assert merge_tree(MergeTrace((a, b), (step,), (ab,), (0, 2), ()), width=80) == ["a  b", "└12┘"]
