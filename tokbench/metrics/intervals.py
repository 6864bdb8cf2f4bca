"""How far a figure would move with other documents: the paired bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 1000
TAILS = (0.025, 0.975)
"""The quantiles that an interval of 95 % goes from and to."""

_MOST_UNITS = 4096
_DRAWN = 1 << 13
"""Numbers drawn at once: they stay in the cache of the processor."""


class Interval(NamedTuple):
    """A 95 % interval, both ends included."""

    low: float
    high: float

    @property
    def spans_zero(self) -> bool:
        """Whether it holds 0: a difference of such an interval distinguishes nothing."""
        return self.low <= 0 <= self.high


@dataclass(frozen=True, slots=True, eq=False)
class Resamples:
    """How often each document is drawn in each resample; the same for every tokenizer, which pairs them.

    Attributes:
        units: int64[D], the unit that each document belongs to. Up to 4,096 documents are units by
            themselves; more are dealt at random to so many units of about equal size, which are drawn
            as wholes: the variance between them is that between documents.
        weights: float64[R, U], how often each unit is drawn.
    """

    units: NDArray[np.int64]
    weights: NDArray[np.float64]

    def sums(
        self,
        values: NDArray[np.int64] | NDArray[np.float64],
        *,
        documents: NDArray[np.int64] | None = None,
    ) -> NDArray[np.float64]:
        """The sums of counts in every resample.

        Args:
            values: [D, K], the counts of each document.
            documents: int64[D], which documents these are; by default all.

        Returns:
            float64[R, K].
        """
        units, places = np.unique(
            self.units if documents is None else self.units[documents], return_inverse=True
        )
        by_unit = np.stack(
            [np.bincount(places, weights=column, minlength=len(units)) for column in values.T], axis=1
        )
        return np.asarray(self.weights[:, units] @ by_unit, dtype=np.float64)

    def ratios(
        self,
        numerators: NDArray[np.int64] | NDArray[np.float64],
        denominators: NDArray[np.int64] | NDArray[np.float64],
    ) -> NDArray[np.float64] | None:
        """The ratio of the sums of two counts in every resample.

        Args:
            numerators: [D], of each document.
            denominators: [D].

        Returns:
            float64[R]; None where the denominator is 0 in one of them.
        """
        above, below = self.sums(np.stack([numerators, denominators], axis=1).astype(np.float64)).T
        return above / below if below.all() else None


def resamples(num_documents: int, *, seed: int, num_resamples: int = RESAMPLES) -> Resamples | None:
    """Draw documents with replacement, as many as there are, again and again.

    Returns:
        None for fewer than two documents, which say nothing of how documents differ.

    >>> resamples(3, seed=0, num_resamples=2).weights.sum(axis=1).tolist()
    [3.0, 3.0]
    """
    if num_documents < 2:
        return None
    generator = np.random.default_rng(seed)
    num_units = min(num_documents, _MOST_UNITS)
    units = np.arange(num_documents) % num_units
    if num_documents > num_units:
        generator.shuffle(units)
    weights = np.empty((num_resamples, num_units))
    at_once = max(_DRAWN // num_units, 1)
    for first in range(
        0, num_resamples, at_once
    ):  # what a multinomial distribution gives, in a twentieth of its time
        rows = weights[first : first + at_once]
        drawn = generator.integers(num_units, size=rows.shape)
        drawn += np.arange(len(rows))[:, np.newaxis] * num_units
        rows[:] = np.bincount(drawn.ravel(), minlength=rows.size).reshape(rows.shape)
    return Resamples(units=units, weights=weights)


def interval_of(values: NDArray[np.float64]) -> Interval:
    """The percentile interval of what the resamples gave.

    >>> interval_of(np.arange(1001.0))
    Interval(low=25.0, high=975.0)
    """
    low, high = np.quantile(values, TAILS)
    return Interval(float(low), float(high))
