"""One figure with what says how sure it is: its interval, and how far it is from another tokenizer's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.metrics.catalogue import METRICS
from tokbench.metrics.intervals import Interval, interval_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokbench.evaluation.aggregation import Aggregate
    from tokbench.metrics.catalogue import Metric


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric of one tokenizer on some text.

    Attributes:
        value: None where there is nothing to divide by.
        interval: 95 %, by the bootstrap over documents; None for metrics that are no ratio of counts by document.
        difference: to the baseline: of a share the difference itself, of anything else relative to the baseline's.
        difference_interval: 95 %, paired.
    """

    value: float | None
    interval: Interval | None = None
    difference: float | None = None
    difference_interval: Interval | None = None

    @property
    def is_distinguishable(self) -> bool | None:
        """Whether it differs from the baseline's; None where that is not known."""
        return None if self.difference_interval is None else not self.difference_interval.spans_zero


def figures_of(aggregate: Aggregate, base: Aggregate) -> dict[str, Figure]:
    """Every metric of a tokenizer on all text, beside the baseline's."""
    return {
        name: _figure(
            metric,
            values=(aggregate.value(metric), base.value(metric)),
            resampled=(aggregate.resampled(metric), base.resampled(metric)),
        )
        for name, metric in METRICS.items()
    }


def group_figures_of(aggregate: Aggregate, base: Aggregate, *, group: str) -> dict[str, Figure]:
    """Every metric of a tokenizer on the text of a group, beside the baseline's."""
    metrics = list(METRICS.values())
    found = zip(
        metrics,
        aggregate.group_resampled(metrics, group),
        base.group_resampled(metrics, group),
        strict=True,
    )
    return {
        metric.name: _figure(
            metric,
            values=(aggregate.group_value(metric, group), base.group_value(metric, group)),
            resampled=(resampled, base_resampled),
        )
        for metric, resampled, base_resampled in found
    }


def _figure(
    metric: Metric,
    *,
    values: tuple[float | None, float | None],
    resampled: tuple[NDArray[np.float64] | None, NDArray[np.float64] | None],
) -> Figure:
    return Figure(
        value=values[0],
        interval=None if resampled[0] is None else interval_of(resampled[0]),
        difference=difference(*values, share=metric.share),
        difference_interval=difference_interval(*resampled, share=metric.share),
    )


def difference(value: float | None, base: float | None, *, share: bool) -> float | None:
    """How far a value is from the baseline's: of shares the difference, else relative to the baseline's.

    >>> difference(0.5, 0.4, share=False), difference(0.5, 0.25, share=True), difference(1.0, 0.0, share=False)
    (0.25, 0.25, None)
    """
    if value is None or base is None:
        return None
    if share:
        return value - base
    return value / base - 1 if base else None


def difference_interval(
    values: NDArray[np.float64] | None, base: NDArray[np.float64] | None, *, share: bool
) -> Interval | None:
    """The interval of `difference` over the same resamples of both."""
    if values is None or base is None or (not share and not base.all()):
        return None
    return interval_of(values - base if share else values / base - 1)
