"""Invariants of metrics on any text: bounds, sums, order; and of edit distances and nested vocabularies."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.texts import texts, words
from support.toys import Toy
from support.units import one_document_units, ratios

from tokbench.backends.bpe import reference
from tokbench.corpus import Document
from tokbench.evaluation.counting_pass import evaluate
from tokbench.evaluation.fairness import gini, premiums
from tokbench.evaluation.fidelity import indentation_lost
from tokbench.metrics.bootstrap import interval_of, resamples
from tokbench.metrics.catalogue import METRICS
from tokbench.metrics.metric import (
    average_rank,
    frequency_deciles,
    length_histogram,
    pooled,
    renyi_efficiency,
    utilization,
)
from tokbench.metrics.robustness import edit_distance
from tokbench.metrics.vocabulary import intermediate_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

PIECES = [
    "a",
    "b",
    "ab",
    " ",
    "\n",
    "  ",
    " a",
    "the",
    "get",
    "1",
    "12",
    "123",
    "=",
    "==",
    b"\xc3",
    b"\xe3\x81",
    "日",
]
TOYS = [Toy(*PIECES, otherwise=otherwise) for otherwise in ("unknown", "bytes", "nothing")]  # type: ignore[arg-type]

tokenizers = st.sampled_from(TOYS)
documents = st.lists(
    st.builds(Document, texts.filter(bool), st.sampled_from("xyz"), st.just("a.txt")), min_size=1, max_size=8
)
frequencies = st.lists(st.integers(0, 10**6), min_size=1, max_size=40).map(np.array)
ids = st.lists(st.integers(0, 5), max_size=12)


@given(tokenizer=tokenizers, documents=documents)
def test_every_metric_is_within_its_bounds(tokenizer: Toy, documents: list[Document]) -> None:
    evaluation = evaluate(tokenizer, documents)
    for tally in (*evaluation.groups.values(), evaluation.total):
        assert min(tally.as_counts().values()) >= 0
        for metric in METRICS.values():
            value = metric.value(tally, evaluation.vocabulary)
            assert value is None or np.isfinite(value)
            assert value is None or value >= 0
            assert not metric.share or value is None or value <= 1, metric.name


@given(tokenizer=tokenizers, documents=documents, seed=st.integers(0, 99))
def test_counts_add_up_in_any_order(tokenizer: Toy, documents: list[Document], seed: int) -> None:
    whole = evaluate(tokenizer, documents)
    shuffled = random.Random(seed).sample(documents, len(documents))
    again = evaluate(tokenizer, shuffled)
    alone = [evaluate(tokenizer, [document]).total for document in documents]
    together = pooled(alone)
    assert whole.total.as_counts() == again.total.as_counts() == together.as_counts()
    assert whole.frequencies.tolist() == again.frequencies.tolist()
    assert together.frequencies is not None
    assert whole.frequencies.tolist() == together.frequencies.tolist()
    assert whole.total.words == again.total.words
    assert whole.worst_words == again.worst_words
    assert [group.as_counts() for group in whole.groups.values()] == [
        group.as_counts() for group in again.groups.values()
    ]


@given(tokenizer=tokenizers, documents=documents)
def test_pooled_ratio_lies_between_those_of_the_groups(tokenizer: Toy, documents: list[Document]) -> None:
    evaluation = evaluate(tokenizer, documents)
    for name in ("bytes_per_token", "unk_rate", "tokens_per_word", "vocab_coverage"):
        values = [METRICS[name].value(tally, evaluation.vocabulary) for tally in evaluation.groups.values()]
        known = [value for value in values if value is not None]
        pooled_value = METRICS[name].value(evaluation.total, evaluation.vocabulary)
        if pooled_value is not None and len(known) == len(values):
            assert min(known) - 1e-12 <= pooled_value <= max(known) + 1e-12


# --- distributions ----------------------------------------------------------------------------


@given(frequencies=frequencies, alpha=st.floats(0, 100), factor=st.integers(1, 50), seed=st.integers(0, 99))
def test_efficiency_depends_on_the_distribution_only(
    frequencies: np.ndarray, alpha: float, factor: int, seed: int
) -> None:
    value = renyi_efficiency(frequencies, alpha=alpha)
    if value is None:
        assert len(frequencies) < 2 or not frequencies.any()
        return
    assert 0 <= value <= 1
    shuffled = np.random.default_rng(seed).permutation(frequencies * factor)
    again = renyi_efficiency(shuffled, alpha=alpha)
    assert again is not None
    assert abs(again - value) < 1e-6


@given(frequencies=frequencies, alphas=st.tuples(st.floats(0, 20), st.floats(0, 20)))
def test_efficiency_decreases_with_the_order(frequencies: np.ndarray, alphas: tuple[float, float]) -> None:
    low, high = (renyi_efficiency(frequencies, alpha=alpha) for alpha in sorted(alphas))
    assert low is None or high is None or high <= low + 1e-6


@given(frequencies=frequencies)
def test_distribution_metrics_are_within_their_bounds(frequencies: np.ndarray) -> None:
    used, rank, deciles = utilization(frequencies), average_rank(frequencies), frequency_deciles(frequencies)
    assert used is not None
    assert 0 <= used <= 1
    assert rank is None or 1 <= rank <= (len(frequencies) + 1) / 2
    assert deciles is None or list(deciles) == sorted(deciles)
    assert deciles is None or {*deciles} <= {*frequencies.tolist()} - {0}
    lengths = np.arange(len(frequencies))
    assert sum(length_histogram(frequencies, lengths)) == frequencies.sum()


# --- fairness ---------------------------------------------------------------------------------


@given(values=st.lists(st.integers(0, 10**6), max_size=40), factor=st.integers(1, 9))
def test_gini_is_a_share_and_scale_invariant(values: list[int], factor: int) -> None:
    value = gini(values)
    if not any(values):
        assert value is None
        return
    assert value is not None
    assert -1e-12 <= value < 1
    other = gini([factor * one for one in reversed(values)])
    assert other is not None
    assert abs(value - other) < 1e-9
    assert (value < 1e-12) == (len(set(values)) == 1)


@given(tokens=st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 10**6), min_size=1))
def test_premiums_of_swapped_languages_are_reciprocal(tokens: dict[str, int]) -> None:
    for token in tokens:
        for other in tokens:
            there, back = premiums(tokens, reference=token)[other], premiums(tokens, reference=other)[token]
            assert there is not None
            assert back is not None
            assert abs(there * back - 1) < 1e-9


# --- distances, indentation, nested vocabularies ----------------------------------------------


def distance_by_definition(one: Sequence[int], other: Sequence[int]) -> int:
    """Compute the edit distance by the full table of Wagner and Fischer."""
    table = [[max(row, column) for column in range(len(other) + 1)] for row in range(len(one) + 1)]
    for row, left in enumerate(one, start=1):
        for column, right in enumerate(other, start=1):
            table[row][column] = min(
                table[row - 1][column] + 1,
                table[row][column - 1] + 1,
                table[row - 1][column - 1] + (left != right),
            )
    return table[-1][-1]


@given(one=ids, other=ids)
def test_edit_distance_equals_its_definition(one: list[int], other: list[int]) -> None:
    assert edit_distance(one, other) == distance_by_definition(one, other)


@given(text=texts)
def test_equal_texts_lose_no_indentation(text: str) -> None:
    assert indentation_lost(text, text) == 0


@given(
    training=st.dictionaries(words, st.integers(1, 9), min_size=1, max_size=6),
    text=st.lists(words, max_size=6),
    num_merges=st.integers(0, 25),
)
def test_larger_vocabulary_needs_no_more_tokens_and_intermediates_never_occur(
    training: dict[str, int], text: list[str], num_merges: int
) -> None:
    merges = reference.train(
        {word.encode(): count for word, count in training.items()}, num_merges=num_merges, min_frequency=1
    )
    pairs = [(merge.left, merge.right) for merge in merges]

    def ids_under(number: int) -> list[int]:
        ranks = {pair: reference.NUM_BYTES + rank for rank, pair in enumerate(pairs[:number])}
        return [id for word in text for id in reference.encode(word.encode(), ranks)]

    counts = Counter(ids_under(len(pairs)))
    kept = np.array([counts[id] for id in range(reference.NUM_BYTES + len(pairs))])
    sizes = [len(ids_under(number)) for number in range(len(pairs) + 1)]
    assert sizes == sorted(sizes, reverse=True)
    intermediate = set(np.flatnonzero(intermediate_tokens(kept, pairs)).tolist())
    assert all(id >= reference.NUM_BYTES and not kept[id] for id in intermediate)
    feeding = {id for rank, pair in enumerate(pairs) if kept[reference.NUM_BYTES + rank] for id in pair}
    learned = {id for id in feeding if id >= reference.NUM_BYTES and not kept[id]}
    assert learned <= intermediate


@given(values=st.lists(st.tuples(st.integers(1, 99), st.integers(1, 99)), min_size=5, max_size=30))
def test_resampled_ratios_lie_between_those_of_documents(values: list[tuple[int, int]]) -> None:
    above, below = np.array(values).T
    units = one_document_units(len(values), above, below)
    drawn = resamples(units, seed=0, num_resamples=50)
    assert drawn is not None
    found = ratios(drawn, units)
    assert (above / below).min() - 1e-9 <= found.min() <= found.max() <= (above / below).max() + 1e-9
    estimate = above.sum() / below.sum()
    low, high = interval_of(found, estimate=estimate, num_units=drawn.num_units)
    assert low - 1e-9 <= estimate <= high + 1e-9 or not found.min() < estimate < found.max()
