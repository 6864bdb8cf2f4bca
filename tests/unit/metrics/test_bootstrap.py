"""Tests for the bootstrap: its draws, the width of its intervals, and the pairing of tokenizers."""

from __future__ import annotations

import numpy as np
import pytest
from support.toys import Toy, documents_of
from support.units import column, one_document_units, ratios, units_of

from tokbench.evaluation.counting_pass import evaluate
from tokbench.evaluation.figures import difference, difference_interval
from tokbench.metrics.bootstrap import RESAMPLES, Interval, Resampled, interval_of, resamples
from tokbench.metrics.metric import DOCUMENT_COUNTS


def resampled(estimate: float, *values: float) -> Resampled:
    return Resampled(estimate, np.array(values), 10)


def test_fewer_than_five_units_give_no_resamples() -> None:
    assert all(resamples(one_document_units(number), seed=0) is None for number in range(5))
    assert resamples(units_of([0, 1, 2, 3] * 9), seed=0) is None  # regardless of the number of documents
    assert resamples(one_document_units(5), seed=0) is not None


def test_documents_of_a_unit_are_resampled_together() -> None:
    counts = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000]
    units = units_of([7, 7, 3, 9, 9, 1, 5, 7], counts)
    drawn = resamples(units, seed=2, num_resamples=40)
    assert drawn is not None
    assert drawn.num_units == 5
    assert drawn.keys.tolist() == [1, 3, 5, 7, 9]
    by_unit = np.array([100_000, 100, 1_000_000, 10_000_011, 11_000])
    assert drawn.sums(units)[:, 0].tolist() == (drawn.weights @ by_unit).tolist()
    some = units_of([7, 3, 5], [10, 100, 1_000_000])
    assert drawn.sums(some)[:, 0].tolist() == (drawn.weights @ [0, 100, 1_000_000, 10, 0]).tolist()


def test_each_resample_draws_as_many_units_as_there_are() -> None:
    drawn = resamples(one_document_units(50), seed=1)
    assert drawn is not None
    assert drawn.weights.shape == (RESAMPLES, 50)
    assert (drawn.weights.sum(axis=1) == 50).all()
    assert drawn.weights.mean() == pytest.approx(1)
    assert drawn.weights.var() == pytest.approx(1, abs=0.1)  # the weights are nearly Poisson


def test_seed_determines_the_resamples() -> None:
    one, same, other = (resamples(one_document_units(30), seed=seed) for seed in (5, 5, 6))
    assert one is not None
    assert same is not None
    assert other is not None
    assert np.array_equal(one.weights, same.weights)
    assert not np.array_equal(one.weights, other.weights)


def test_interval_uses_percentiles_widened_for_few_units() -> None:
    assert interval_of(np.arange(1001.0), estimate=500, num_units=10**6) == pytest.approx((25, 975))
    # The interval is as skewed as the resamples, and wider when there are few units.
    skewed = np.arange(1001.0) ** 2
    few, many = (interval_of(skewed, estimate=500**2, num_units=units) for units in (6, 10**6))
    assert many == pytest.approx((25**2, 975**2))
    assert (few.high - 500**2) / (many.high - 500**2) == pytest.approx(
        (500**2 - few.low) / (500**2 - many.low)
    )
    assert few.high > 1.3 * many.high
    assert Interval(-1, 0).spans_zero
    assert Interval(0, 0).spans_zero
    assert not Interval(0.1, 0.2).spans_zero


@pytest.mark.parametrize("documents", [200, 6000])
def test_interval_covers_the_true_value_at_about_its_level(documents: int) -> None:
    """Check a hundred noisy samples of a ratio of 4; more than 4,096 documents are drawn in buckets."""
    drawn = resamples(one_document_units(documents), seed=3, num_resamples=400)
    assert drawn is not None
    generator = np.random.default_rng(8)
    held = 0
    widths = []
    for _ in range(100):
        below = generator.integers(50, 500, documents)
        above = generator.poisson(4.0 * below * generator.gamma(30, 1 / 30, documents))
        resampled = ratios(drawn, one_document_units(documents, above, below))
        estimate = above.sum() / below.sum()
        low, high = interval_of(resampled, estimate=estimate, num_units=drawn.num_units)
        held += low <= 4 <= high
        widths.append(high - low)
    assert 87 <= held <= 100
    # The width of the interval by the formula for the variance of a ratio: 1.96 standard errors on either side.
    sizes = generator.integers(50, 500, 100_000).astype(float)
    spread = 4 * np.sqrt((sizes**2).mean() / 30 + sizes.mean() / 4) / sizes.mean() / np.sqrt(documents)
    assert np.mean(widths) == pytest.approx(2 * 1.96 * spread, rel=0.1)


def test_many_documents_are_grouped_into_lots_by_their_keys() -> None:
    keys = np.random.default_rng(4).integers(0, 1 << 63, 10_000).astype(np.uint64)
    units = units_of(keys, np.ones(10_000, np.int64))
    drawn = resamples(units, seed=0, num_resamples=3)
    assert drawn is not None
    assert drawn.are_buckets
    assert drawn.keys.tolist() == sorted({key % 4096 for key in keys.tolist()})
    assert drawn.num_units == drawn.weights.shape[1] > 3600  # 4,096 buckets without the empty ones
    sizes = np.bincount((keys % np.uint64(4096)).astype(np.int64), minlength=4096)
    assert drawn.sums(units)[:, 0].tolist() == (drawn.weights @ sizes[sizes > 0]).tolist()


def test_pairing_distinguishes_what_separate_intervals_do_not() -> None:
    """Documents differ far more than the tokenizers, one of which is 1 % better on every document."""
    generator = np.random.default_rng(1)
    tokens = generator.integers(100, 300, 300) * 100
    num_bytes = (tokens * generator.uniform(1, 6, 300)).astype(np.int64)
    drawn = resamples(one_document_units(300), seed=0)
    assert drawn is not None
    worse, better = (
        Resampled(
            num_bytes.sum() / counts.sum(), ratios(drawn, one_document_units(300, num_bytes, counts)), 300
        )
        for counts in (tokens, tokens * 99 // 100)
    )
    assert worse.interval.high > better.interval.low
    assert better.differs_from(worse)
    interval = difference_interval(better, worse, share=False)
    assert interval is not None
    assert not interval.spans_zero
    assert interval.low == pytest.approx(1 / 0.99 - 1, abs=1e-4)


# --- of metrics -------------------------------------------------------------------------------


def test_unit_counts_equal_those_of_each_document() -> None:
    documents = documents_of("ab", "aé", "b b")
    evaluation = evaluate(Toy("a", "b"), documents)
    assert column(evaluation, documents, "bytes") == [2, 3, 3]
    assert column(evaluation, documents, "unknown_tokens") == [0, 1, 1]
    assert evaluation.group_units["all"].counts.shape == (3, len(DOCUMENT_COUNTS))


def test_differences_are_relative_or_absolute_for_shares() -> None:
    assert difference(3.0, 2.0, share=False) == 0.5
    assert difference(0.3, 0.2, share=True) == pytest.approx(0.1)
    assert difference(None, 2.0, share=False) is None
    assert difference(2.0, None, share=True) is None
    assert difference(2.0, 0.0, share=False) is None
    assert difference_interval(resampled(1, 1, 1, 1), resampled(1, 1, 0, 1), share=False) is None
    assert difference_interval(None, resampled(1, 1, 1, 1), share=True) is None
    assert difference_interval(resampled(1, 1, 1), resampled(0.5, 0.5, 0.5), share=True) == (0.5, 0.5)
    assert difference_interval(resampled(1, 1, 1), resampled(0.5, 0.5, 0.5), share=False) == (1, 1)
