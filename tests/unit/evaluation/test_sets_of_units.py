"""Comparisons whose vocabularies are so large that their frequencies are counted in fewer sets of units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.comparisons import compare
from support.toys import Toy, documents_of

from tokbench.metrics import unit_counts

if TYPE_CHECKING:
    from tokbench.evaluation.comparison import Comparison


def by_name(comparison: Comparison, name: str) -> Any:
    return next(tokenizer for tokenizer in comparison.tokenizers if tokenizer.name == name)


@pytest.mark.parametrize("num_documents", [12, 30, 90], ids=["all apart", "some apart", "all in sets"])
def test_very_large_vocabularies_are_compared_in_fewer_sets(
    monkeypatch: pytest.MonkeyPatch, num_documents: int
) -> None:
    """The difference equals that of two tokenizers whose frequencies are counted in as few sets from the start."""
    documents = documents_of(
        *(f"{'ab' * (number % 7)}{'a' * (number % 5)} b" for number in range(num_documents))
    )
    toys = Toy("a", "b", " "), Toy("a", "ab", "b", " ", otherwise="bytes", name="large")
    monkeypatch.setattr(unit_counts, "_MOST_IN_SETS", 1 << 13)
    assert [unit_counts.most_sets(toy.info.vocab_size) for toy in toys] == [64, 16]
    in_two_numbers = compare(*toys, documents=documents)
    monkeypatch.setattr(unit_counts, "_SETS", 16)
    figures = [
        by_name(comparison, "large").figures["renyi_efficiency"].difference_interval
        for comparison in (in_two_numbers, compare(*toys, documents=documents))
    ]
    assert figures[0] is not None
    assert figures[0] == figures[1]


def test_vocabulary_too_large_for_sets_has_no_interval_of_frequencies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    documents = documents_of(*(f"{'ab' * (number % 7)} b" for number in range(90)))
    monkeypatch.setattr(unit_counts, "_MOST_IN_SETS", 200)
    comparison = compare(
        Toy("a", "b", " "), Toy("a", "ab", otherwise="bytes", name="large"), documents=documents
    )
    small, large = (by_name(comparison, name).figures["renyi_efficiency"] for name in ("toy", "large"))
    assert small.interval is not None
    assert large.value is not None
    assert large.interval is large.difference_interval is None
