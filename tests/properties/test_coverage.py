"""How often nominal 95 % holds the truth, by simulation: few units, skewed sizes, lines that come in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tokbench.metrics.bootstrap import TAILS, Interval, interval_of, jackknife_interval, resamples

if TYPE_CHECKING:
    from numpy.typing import NDArray

TRUTH = 4.0
SAMPLES = 1000
RESAMPLES = 400
ENOUGH = 0.92
CHANCE = 3 * np.sqrt(ENOUGH * (1 - ENOUGH) / SAMPLES)
"""How far a share of so many samples may lie from the true one by chance."""


def sizes_and_counts(
    generator: np.random.Generator, shape: tuple[int, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Tokens, log-normal, and bytes: four for each token, but for a noise that is as skewed as a gamma's."""
    tokens = generator.lognormal(5, 0.8, shape)
    return tokens, TRUTH * tokens * generator.gamma(20, 1 / 20, shape)


def share_held(
    above: NDArray[np.float64], below: NDArray[np.float64], units: NDArray[np.int64], *, plain: bool = False
) -> float:
    """How many intervals hold the truth, of samples [SAMPLES, D] whose columns are of some units."""
    held = 0
    for sample in range(len(above)):
        drawn = resamples(units, seed=sample, num_resamples=RESAMPLES)
        assert drawn is not None
        ratios = drawn.ratios(above[sample], below[sample])
        assert ratios is not None
        estimate = above[sample].sum() / below[sample].sum()
        interval = (
            Interval(*np.quantile(ratios, TAILS))
            if plain
            else interval_of(ratios, estimate=estimate, num_units=drawn.num_units)
        )
        held += interval.low <= TRUTH <= interval.high
    return held / len(above)


@pytest.mark.parametrize("num_units", [5, 8, 12, 20, 50])
def test_nominal_95_percent_holds_at_least_92(num_units: int) -> None:
    below, above = sizes_and_counts(np.random.default_rng(num_units), (SAMPLES, num_units))
    assert ENOUGH - CHANCE / 3 <= share_held(above, below, np.arange(num_units)) <= 0.985


@pytest.mark.parametrize("num_units", [5, 8])
def test_plain_percentiles_do_not(num_units: int) -> None:
    below, above = sizes_and_counts(np.random.default_rng(num_units), (SAMPLES, num_units))
    assert share_held(above, below, np.arange(num_units), plain=True) < ENOUGH - CHANCE


def test_lines_of_files_are_drawn_by_file() -> None:
    """Twelve files of thirty lines that are alike in each: drawn by line, most intervals miss the truth."""
    generator = np.random.default_rng(1)
    files, lines, samples = 12, 30, 200
    tokens = generator.lognormal(3, 0.5, (samples, files, lines))
    of_file = TRUTH * generator.gamma(40, 1 / 40, (samples, files, 1))
    num_bytes = (tokens * of_file * generator.gamma(20, 1 / 20, tokens.shape)).reshape(samples, -1)
    tokens = tokens.reshape(samples, -1)
    by_file = share_held(num_bytes, tokens, np.repeat(np.arange(files), lines))
    by_line = share_held(num_bytes, tokens, np.arange(files * lines))
    assert by_line < 0.65
    assert by_file >= ENOUGH - 0.02


@pytest.mark.parametrize("num_sets", [6, 64])
def test_the_jackknife_holds_it_too(num_sets: int) -> None:
    """The entropy of tokens whose frequencies differ from unit to unit, against that of very many units."""
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
        sets = drawn((num_sets,))
        whole = sets.sum(axis=0)
        low, high = jackknife_interval(efficiency(whole - sets), estimate=float(efficiency(whole)))
        held += low <= truth <= high
    assert held / 500 >= ENOUGH - 0.02
