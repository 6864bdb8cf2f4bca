"""Training of Unigram: the kernel gives the same pieces as its definition, and scores equal to the last bit."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.line_texts import counted_text, rules, spacings, texts

from tokbench.backends.sentencepiece import fallback
from tokbench.backends.sentencepiece.reference import PieceRules, segments_of
from tokbench.backends.unigram.fallback import train_unigram

native = pytest.importorskip("tokbench.native._sentencepiece_training")


def learned(
    module: Any,
    texts: list[str],
    *,
    rules: dict[str, Any],
    spacing: dict[str, bool],
    size: int = 20,
    coverage: float = 1.0,
    most_seeds: int = 1000,
    required: tuple[int, ...] = (),
    threads: int = 2,
) -> tuple[Any, ...]:
    """Return everything that a kernel reports of a training."""
    text, seen = counted_text(
        module, texts, rules=rules, spacing=spacing, coverage=coverage, required=required, threads=threads
    )
    if not text.distinct:
        return seen
    wanted = max(size, text.alphabet)
    pieces, scores, rounds = (train_unigram if module is fallback else module.train_unigram)(
        text,
        size=wanted,
        most_seeds=most_seeds,
        pruned_to=wanted + wanted // 10,
        kept_share=0.75,
        rounds=2,
        threads=threads,
        progress=None,
    )
    return *seen, pieces, [float(score) for score in scores], rounds


@given(
    texts=texts,
    rules=rules,
    spacing=spacings,
    size=st.integers(1, 40),
    coverage=st.sampled_from([1.0, 0.98, 0.8]),
    most_seeds=st.sampled_from([1, 5, 1000]),
    required=st.sampled_from([(), (0x61, 0x4E00)]),
    threads=st.integers(1, 3),
)
@example(  # a segment so long that its probability needs a separate exponent
    texts=["ab" * 700 + "aab" * 50],
    rules={
        "longest": 3,
        "split_by_script": True,
        "split_by_number": True,
        "split_by_whitespace": True,
        "split_digits": False,
        "whitespace_only": True,
    },
    spacing={"dummy_prefix": True, "collapse": False},
    size=6,
    coverage=1.0,
    most_seeds=1000,
    required=(),
    threads=1,
)
def test_kernel_learns_as_its_definition(texts: list[str], **options: Any) -> None:
    assert learned(native, texts, **options) == learned(fallback, texts, **options)


def test_best_of_many_substrings_become_seeds() -> None:
    """There are more substrings than are in memory at a time."""
    letters = Random(7)
    words = ["".join(letters.choices("abcdé", k=letters.randint(4, 12))) for _ in range(2500)]
    options: dict[str, Any] = {
        "rules": {
            "longest": 8,
            "split_by_script": True,
            "split_by_number": True,
            "split_by_whitespace": True,
            "split_digits": False,
            "whitespace_only": True,
        },
        "spacing": {"dummy_prefix": True, "collapse": False},
        "size": 40,
        "most_seeds": 50,
    }
    assert learned(native, [" ".join(words)], **options) == learned(fallback, [" ".join(words)], **options)


@given(texts=texts, rules=rules)
def test_no_piece_crosses_a_segment_boundary(texts: list[str], rules: dict[str, Any]) -> None:
    """The definition of a segment: every substring that may be a piece is within one segment."""
    of_pieces = PieceRules(**rules)
    for text in texts:
        word = text.replace(" ", "▁")
        substrings = {
            word[i:j]
            for i in range(len(word))
            for j in range(i + 1, min(i + of_pieces.longest, len(word)) + 1)
        }
        segments = segments_of({word: 1}, of_pieces)
        for piece in filter(of_pieces.allow, substrings):
            assert any(piece in segment for segment in segments)
