"""A metric's value with its interval, its difference to the baseline, and what may be ranked by it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.metrics.bootstrap import Interval
from tokbench.metrics.catalogue import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.evaluation.aggregation import Aggregate
    from tokbench.metrics.bootstrap import Resampled
    from tokbench.metrics.metric import Metric


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric of one tokenizer on some text.

    Attributes:
        value: None where there is nothing to divide by.
        interval: 95 %, by the bootstrap over what was drawn independently; None where that is too little, and for
            metrics that are no ratio of counts by document.
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


def figures_of(
    aggregate: Aggregate, base: Aggregate | None, *, metrics: Iterable[Metric] = METRICS.values()
) -> dict[str, Figure]:
    """Metrics of a tokenizer on all text, by default every one, beside the baseline's where there is one."""
    return {
        metric.name: _figure(
            metric,
            values=(aggregate.value(metric), None if base is None else base.value(metric)),
            resampled=(aggregate.resampled(metric), None if base is None else base.resampled(metric)),
        )
        for metric in metrics
    }


def relative_tokens_of(aggregate: Aggregate, base: Aggregate, *, value: float | None) -> Figure:
    """The tokens of all text over the baseline's, and by what share they are more.

    Args:
        aggregate: of the tokenizer.
        base: of the baseline.
        value: the ratio.
    """
    drawn = aggregate.relative_tokens(base)
    if value is None or drawn is None:
        return Figure(value, difference=None if value is None else value - 1)
    low, high = drawn.interval
    return Figure(value, Interval(low, high), value - 1, Interval(low - 1, high - 1))


def group_figures_of(
    aggregate: Aggregate, base: Aggregate | None, *, group: str, metrics: Iterable[Metric] = METRICS.values()
) -> dict[str, Figure]:
    """Metrics of a tokenizer on the text of a group, by default every one; as `figures_of`."""
    wanted = list(metrics)
    resampled = aggregate.group_resampled(wanted, group)
    base_resampled: list[Resampled | None] = [None] * len(wanted)
    if base is not None:
        base_resampled = resampled if aggregate is base else base.group_resampled(wanted, group)
    return {
        metric.name: _figure(
            metric,
            values=(
                aggregate.group_value(metric, group),
                None if base is None else base.group_value(metric, group),
            ),
            resampled=pair,
        )
        for metric, pair in zip(wanted, zip(resampled, base_resampled, strict=True), strict=True)
    }


def _figure(
    metric: Metric,
    *,
    values: tuple[float | None, float | None],
    resampled: tuple[Resampled | None, Resampled | None],
) -> Figure:
    return Figure(
        value=values[0],
        interval=None if resampled[0] is None else _possible(resampled[0].interval, metric),
        difference=difference(*values, share=metric.share),
        difference_interval=difference_interval(*resampled, share=metric.share),
    )


def _possible(interval: Interval, metric: Metric) -> Interval:
    """Clip an interval to the values that the metric can have: from 0, and up to 1 for a share."""
    highest = 1.0 if metric.share else math.inf
    return Interval(max(interval.low, 0.0), min(interval.high, highest))


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
    resampled: Resampled | None, base: Resampled | None, *, share: bool
) -> Interval | None:
    """The interval of `difference` over the same resamples of both."""
    if resampled is None or base is None:
        return None
    found = resampled.minus(base) if share else resampled.relative_to(base)
    return None if found is None else found.interval
