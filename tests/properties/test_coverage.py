"""Coverage of nominal 95 % intervals by simulation: few units, skewed sizes, lines that come from files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.units import ratios, units_of

from tokbench.metrics.bootstrap import TAILS, Interval, interval_of, jackknife_interval, resamples

if TYPE_CHECKING:
    from numpy.typing import NDArray

TRUTH = 4.0
SAMPLES = 1000
RESAMPLES = 400
ENOUGH = 0.92
CHANCE = 3 * np.sqrt(ENOUGH * (1 - ENOUGH) / SAMPLES)
"""How far the share among this many samples may differ from the true one by chance."""


def sizes_and_counts(
    generator: np.random.Generator, shape: tuple[int, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw log-normal token counts, and byte counts of four for each token with skewed gamma noise."""
    tokens = generator.lognormal(5, 0.8, shape)
    return tokens, TRUTH * tokens * generator.gamma(20, 1 / 20, shape)


def coverage_rate(
    above: NDArray[np.float64], below: NDArray[np.float64], units: NDArray[np.int64], *, plain: bool = False
) -> float:
    """Return the share of intervals that contain the truth, for samples [SAMPLES, D] with a unit for each column."""
    held = 0
    for sample in range(len(above)):
        of_sample = units_of(units, above[sample], below[sample])
        drawn = resamples(of_sample, seed=sample, num_resamples=RESAMPLES)
        assert drawn is not None
        found = ratios(drawn, of_sample)
        estimate = above[sample].sum() / below[sample].sum()
        interval = (
            Interval(*np.quantile(found, TAILS))
            if plain
            else interval_of(found, estimate=estimate, num_units=drawn.num_units)
        )
        held += interval.low <= TRUTH <= interval.high
    return held / len(above)


@pytest.mark.parametrize("num_units", [5, 8, 12, 20, 50])
def test_nominal_95_percent_intervals_cover_at_least_92_percent(num_units: int) -> None:
    below, above = sizes_and_counts(np.random.default_rng(num_units), (SAMPLES, num_units))
    assert ENOUGH - CHANCE / 3 <= coverage_rate(above, below, np.arange(num_units)) <= 0.985


@pytest.mark.parametrize("num_units", [5, 8])
def test_plain_percentile_intervals_cover_less(num_units: int) -> None:
    below, above = sizes_and_counts(np.random.default_rng(num_units), (SAMPLES, num_units))
    assert coverage_rate(above, below, np.arange(num_units), plain=True) < ENOUGH - CHANCE


def test_lines_of_files_are_resampled_by_file() -> None:
    """Twelve files of thirty similar lines each: if lines are drawn, most intervals are too narrow."""
    generator = np.random.default_rng(1)
    files, lines, samples = 12, 30, 200
    tokens = generator.lognormal(3, 0.5, (samples, files, lines))
    of_file = TRUTH * generator.gamma(40, 1 / 40, (samples, files, 1))
    num_bytes = (tokens * of_file * generator.gamma(20, 1 / 20, tokens.shape)).reshape(samples, -1)
    tokens = tokens.reshape(samples, -1)
    by_file = coverage_rate(num_bytes, tokens, np.repeat(np.arange(files), lines))
    by_line = coverage_rate(num_bytes, tokens, np.arange(files * lines))
    assert by_line < 0.65
    assert by_file >= ENOUGH - 0.02


@pytest.mark.slow
def test_intervals_from_buckets_have_the_coverage() -> None:
    """More units than are kept apart are put into buckets by their keys: some have several units, some none."""
    generator = np.random.default_rng(3)
    samples, num_units = 150, 5000
    keys = generator.integers(0, 1 << 63, num_units)
    below, above = sizes_and_counts(generator, (samples, num_units))
    assert coverage_rate(above, below, keys) >= ENOUGH - 3 * np.sqrt(ENOUGH * (1 - ENOUGH) / samples)


@pytest.mark.parametrize("num_units", [6, 64, 65, 150])
def test_jackknife_intervals_have_the_coverage(num_units: int) -> None:
    """The entropy of tokens whose frequencies differ between units, compared to that of very many units.

    More than 64 units are put into buckets by their keys, so that the sets differ in size.
    """
    generator = np.random.default_rng(2)
    weights = 1 / np.arange(1, 61)
    weights /= weights.sum()

    def efficiency(counts: NDArray[np.float64]) -> NDArray[np.float64]:
        shares = counts / counts.sum(axis=-1, keepdims=True)
        return np.asarray(np.log2((shares**2.5).sum(axis=-1)) / (1 - 2.5) / np.log2(60), np.float64)

    def drawn(shape: tuple[int, ...]) -> NDArray[np.float64]:
        return generator.multinomial(400, generator.dirichlet(weights * 200, shape)).astype(np.float64)

    truth = float(efficiency(drawn((40_000,)).sum(axis=0)))
    held = 0
    for _ in range(500):
        sets = drawn((num_units,))
        if num_units > 64:
            buckets = generator.integers(0, 64, num_units)
            sets = np.stack([sets[buckets == bucket].sum(axis=0) for bucket in np.unique(buckets)])
        whole = sets.sum(axis=0)
        low, high = jackknife_interval(efficiency(whole - sets), estimate=float(efficiency(whole)))
        held += low <= truth <= high
    assert held / 500 >= ENOUGH - 0.02
