"""One metric: its definition, its direction, and how its value comes from counts, as a ratio that may not exist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokbench.metrics.tally import Tally
    from tokbench.metrics.vocabulary import Vocabulary

Direction = Literal["higher", "lower", "neither"]
Aggregation = Literal["pooled", "macro", "per_document"]
Theme = Literal["compression", "vocabulary", "fidelity", "numbers", "code"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric of the catalogue.

    Attributes:
        name: as `--metrics` and JSON call it.
        title: as a table calls it.
        meaning: its definition, in a line.
        direction: which way is better; "neither" is not ranked.
        theme: what it belongs to.
        share: whether it lies between 0 and 1 and is shown in percent.
        numerator: the counts whose sum is divided, where it is a ratio of counts; one that stands twice counts
            twice, as the hits of an F1 do.
        denominator: the counts by whose sum it is divided.
        complement: whether that ratio is what is missing from 1.
        compute: the figure otherwise.
        of_frequencies: whether that is a smooth function of how often each id occurs, which has an interval.
    """

    name: str
    title: str
    meaning: str
    direction: Direction
    theme: Theme
    share: bool = False
    numerator: tuple[str, ...] = ()
    denominator: tuple[str, ...] = ()
    complement: bool = False
    compute: Callable[[Tally, Vocabulary], float | None] | None = None
    of_frequencies: bool = False

    def value(self, tally: Tally, vocabulary: Vocabulary) -> float | None:
        """The figure; None where there is nothing to divide by, or what it needs was not counted."""
        if self.compute is not None:
            return self.compute(tally, vocabulary)
        below = sum(tally[name] for name in self.denominator)
        above = sum(tally[name] for name in self.numerator)
        return ratio(below - above if self.complement else above, below)


def ratio(numerator: float, denominator: float) -> float | None:
    """One number over another; None, never 0, where there is nothing to divide by.

    >>> ratio(6, 4), ratio(0, 4), ratio(6, 0)
    (1.5, 0.0, None)
    """
    return numerator / denominator if denominator else None
