"""The bootstrap: what it draws, how wide its intervals are, and that tokenizers are paired in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.toys import Toy, documents_of

from tokbench.evaluation.counting_pass import evaluate
from tokbench.evaluation.figures import difference, difference_interval
from tokbench.metrics.bootstrap import RESAMPLES, Interval, Resampled, interval_of, resamples
from tokbench.metrics.tally import DOCUMENT_COUNTS

if TYPE_CHECKING:
    from numpy.typing import NDArray


def each(number: int) -> NDArray[np.int64]:
    """As many documents, each a unit by itself."""
    return np.arange(number)


def resampled(estimate: float, *values: float) -> Resampled:
    return Resampled(estimate, np.array(values), 10)


def test_fewer_than_five_units_say_nothing() -> None:
    assert all(resamples(each(number), seed=0) is None for number in range(5))
    assert resamples(np.array([0, 1, 2, 3] * 9), seed=0) is None  # however many documents they have
    assert resamples(each(5), seed=0) is not None


def test_documents_of_a_unit_are_drawn_together() -> None:
    units = np.array([7, 7, 3, 9, 9, 1, 5, 7])
    drawn = resamples(units, seed=2, num_resamples=40)
    alone = resamples(np.array([7, 3, 9, 1, 5]), seed=2, num_resamples=40)
    assert drawn is not None
    assert alone is not None
    assert drawn.num_units == 5
    counts = np.array([[1], [10], [100], [1000], [10_000], [100_000], [1_000_000], [10_000_000]])
    by_unit = np.array([[10_000_011], [100], [11_000], [100_000], [1_000_000]])
    assert drawn.sums(counts).tolist() == alone.sums(by_unit).tolist()
    some = np.array([1, 2, 6])  # of units 7, 3 and 5
    assert (
        drawn.sums(counts[some], documents=some).tolist()
        == alone.sums(np.array([[10], [100], [0], [0], [1_000_000]])).tolist()
    )


def test_as_many_are_drawn_as_there_are() -> None:
    drawn = resamples(each(50), seed=1)
    assert drawn is not None
    assert drawn.weights.shape == (RESAMPLES, 50)
    assert (drawn.weights.sum(axis=1) == 50).all()
    assert drawn.weights.mean() == pytest.approx(1)
    assert drawn.weights.var() == pytest.approx(1, abs=0.1)  # nearly Poisson


def test_the_seed_decides() -> None:
    one, same, other = (resamples(each(30), seed=seed) for seed in (5, 5, 6))
    assert one is not None
    assert same is not None
    assert other is not None
    assert np.array_equal(one.weights, same.weights)
    assert not np.array_equal(one.weights, other.weights)


def test_the_ratio_is_that_of_sums() -> None:
    drawn = resamples(each(5), seed=0, num_resamples=20)
    assert drawn is not None
    above, below = np.array([1, 2, 30, 4, 5]), np.array([2, 5, 7, 9, 4])
    ratios = drawn.ratios(above, below)
    assert ratios is not None
    by_hand = [(weights @ above) / (weights @ below) for weights in drawn.weights]
    assert ratios.tolist() == pytest.approx(by_hand)


def test_a_resample_without_a_denominator_leaves_no_interval() -> None:
    drawn = resamples(each(5), seed=0)
    assert drawn is not None
    assert drawn.ratios(np.ones(5, np.int64), np.array([0, 0, 0, 0, 1])) is None


def test_the_interval_is_of_percentiles() -> None:
    assert interval_of(np.arange(1001.0), estimate=500, num_units=10**6) == pytest.approx((25, 975))
    # It is as skewed as the resamples are, and wider where there are few units.
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
def test_it_holds_the_truth_about_as_often_as_it_says(documents: int) -> None:
    """A ratio of 4 with noise, a hundred times; more documents than 4,096 are drawn in units."""
    drawn = resamples(each(documents), seed=3, num_resamples=400)
    assert drawn is not None
    generator = np.random.default_rng(8)
    held = 0
    widths = []
    for _ in range(100):
        below = generator.integers(50, 500, documents)
        above = generator.poisson(4.0 * below * generator.gamma(30, 1 / 30, documents))
        ratios = drawn.ratios(above, below)
        assert ratios is not None
        estimate = above.sum() / below.sum()
        low, high = interval_of(ratios, estimate=estimate, num_units=drawn.num_units)
        held += low <= 4 <= high
        widths.append(high - low)
    assert 87 <= held <= 100
    # The spread of such a mean, by the formula for ratios: 1.96 standard errors at either side.
    sizes = generator.integers(50, 500, 100_000).astype(float)
    spread = 4 * np.sqrt((sizes**2).mean() / 30 + sizes.mean() / 4) / sizes.mean() / np.sqrt(documents)
    assert np.mean(widths) == pytest.approx(2 * 1.96 * spread, rel=0.1)


def test_many_documents_are_dealt_into_units_of_one_size() -> None:
    drawn = resamples(each(10_000), seed=0, num_resamples=3)
    assert drawn is not None
    sizes = np.bincount(drawn.units)
    assert len(sizes) == drawn.weights.shape[1] == 4096
    assert set(sizes.tolist()) <= {2, 3}
    assert drawn.units[:100].tolist() != sorted(drawn.units[:100].tolist())  # dealt at random
    ones = np.ones(10_000, np.int64)
    assert drawn.ratios(ones, ones).tolist() == [1, 1, 1]  # type: ignore[union-attr]


def test_pairing_tells_apart_what_single_intervals_do_not() -> None:
    """Documents differ far more than the tokenizers: 1 % better on each of them."""
    generator = np.random.default_rng(1)
    tokens = generator.integers(100, 300, 300) * 100
    num_bytes = (tokens * generator.uniform(1, 6, 300)).astype(np.int64)
    drawn = resamples(each(300), seed=0)
    assert drawn is not None
    worse, better = (
        Resampled(num_bytes.sum() / counts.sum(), drawn.ratios(num_bytes, counts), 300)  # type: ignore[arg-type]
        for counts in (tokens, tokens * 99 // 100)
    )
    assert worse.interval.high > better.interval.low
    assert better.differs_from(worse)
    found = difference_interval(better, worse, share=False)
    assert found is not None
    assert not found.spans_zero
    assert found.low == pytest.approx(1 / 0.99 - 1, abs=1e-4)


# --- of metrics -------------------------------------------------------------------------------


def test_the_columns_are_those_of_each_document() -> None:
    evaluation = evaluate(Toy("a", "b"), documents_of("ab", "aé", "b b"))
    assert evaluation.column("bytes").tolist() == [2, 3, 3]
    assert evaluation.column("unknown_tokens").tolist() == [0, 1, 1]
    assert evaluation.document_counts.shape == (3, len(DOCUMENT_COUNTS))
    with pytest.raises(ValueError, match="not in"):
        evaluation.column("lengths")


def test_differences_are_relative_or_of_shares() -> None:
    assert difference(3.0, 2.0, share=False) == 0.5
    assert difference(0.3, 0.2, share=True) == pytest.approx(0.1)
    assert difference(None, 2.0, share=False) is None
    assert difference(2.0, None, share=True) is None
    assert difference(2.0, 0.0, share=False) is None
    assert difference_interval(resampled(1, 1, 1, 1), resampled(1, 1, 0, 1), share=False) is None
    assert difference_interval(None, resampled(1, 1, 1, 1), share=True) is None
    assert difference_interval(resampled(1, 1, 1), resampled(0.5, 0.5, 0.5), share=True) == (0.5, 0.5)
    assert difference_interval(resampled(1, 1, 1), resampled(0.5, 0.5, 0.5), share=False) == (1, 1)
