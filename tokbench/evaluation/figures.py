"""Figures: a metric's value with its interval, and its difference to the baseline with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

import numpy as np

from tokbench.metrics.bootstrap import FEWEST_UNITS, Interval, Resampled, resamples
from tokbench.metrics.catalogue import METRICS
from tokbench.metrics.metric import DOCUMENT_COUNTS, Aggregation, ratio
from tokbench.metrics.unit_counts import divided, is_by_document, joined, means_of, ratios_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from tokbench.evaluation.counting_pass import Evaluation
    from tokbench.metrics.bootstrap import Resamples
    from tokbench.metrics.metric import Metric
    from tokbench.metrics.unit_counts import UnitCounts

AGGREGATIONS: tuple[Aggregation, ...] = get_args(Aggregation)
"""Pooled: a ratio of sums over all documents; macro: their mean over groups; per document: the mean ratio."""

_OF_WHOLE_DOCUMENTS = frozenset({"documents", "checked_for_stability"})
_COLUMNS = {name: column for column, name in enumerate(DOCUMENT_COUNTS)}


@dataclass(frozen=True, slots=True)
class Figure:
    """The value of one metric for one tokenizer on some text.

    Attributes:
        value: the value; None if the denominator is 0.
        interval: 95 % bootstrap interval over independently drawn units (jackknife for metrics of frequencies);
            None for too few units and for other metrics that are not ratios of counts per document.
        difference: difference to the baseline: absolute for a share, otherwise relative to the baseline's value.
        difference_interval: 95 % interval of the difference, paired.
    """

    value: float | None
    interval: Interval | None = None
    difference: float | None = None
    difference_interval: Interval | None = None

    @property
    def is_distinguishable(self) -> bool | None:
        """Whether the value differs significantly from the baseline's; None if that is unknown."""
        return None if self.difference_interval is None else not self.difference_interval.spans_zero


def figures_of(
    aggregate: Aggregate, base: Aggregate | None, *, metrics: Iterable[Metric] = METRICS.values()
) -> dict[str, Figure]:
    """Return the figures of metrics (by default all) on all text, compared with a baseline if one is given."""
    return {
        metric.name: _figure(
            metric,
            values=(aggregate.value(metric), None if base is None else base.value(metric)),
            resampled=(aggregate.resampled(metric), None if base is None else base.resampled(metric)),
        )
        for metric in metrics
    }


def relative_tokens_of(aggregate: Aggregate, base: Aggregate, *, value: float | None) -> Figure:
    """Return the ratio of the tokens of all text to the baseline's; its difference is the ratio minus 1.

    Args:
        aggregate: the tokenizer's metrics.
        base: the baseline's metrics.
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
    """Return the figures of metrics on the text of a group; see `figures_of`."""
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
        interval=None if resampled[0] is None else _clipped(resampled[0].interval, metric),
        difference=difference(*values, share=metric.share),
        difference_interval=difference_interval(*resampled, share=metric.share),
    )


def _clipped(interval: Interval, metric: Metric) -> Interval:
    """Clip an interval to the values that the metric can have: from 0, and up to 1 for a share."""
    highest = 1.0 if metric.share else math.inf
    return Interval(max(interval.low, 0.0), min(interval.high, highest))


def difference(value: float | None, base: float | None, *, share: bool) -> float | None:
    """Return the difference of a value to the baseline's: absolute for shares, otherwise relative.

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
    """Return the interval of `difference` over paired resamples."""
    if resampled is None or base is None:
        return None
    found = resampled.minus(base) if share else resampled.relative_to(base)
    return None if found is None else found.interval


class Aggregate:
    """The metrics of one tokenizer under one aggregation, over all documents or those of a group.

    A group or document without a value (a group without words, a document without tokens) is excluded from means.
    Within one group, "macro" equals "pooled".
    """

    def __init__(
        self,
        evaluation: Evaluation,
        *,
        lines: Evaluation | None = None,
        seed: int = 0,
        aggregation: Aggregation = "pooled",
    ) -> None:
        """Prepare the resamples, which are the same for all tokenizers evaluated on the same documents.

        Args:
            evaluation: the counts that figures are computed from, including means if `aggregation` is "per_document".
            lines: the counts of the same text with each aligned line as a document (`AlignedLines`); resamples are
                drawn from these and then shifted to the figure of the whole files.
            seed: seed of the resampling.
            aggregation: how the documents are combined into one figure.
        """
        self.aggregation: Aggregation = aggregation
        self._evaluation = evaluation
        self._seed = seed
        self._total = evaluation.total
        self._groups = list(evaluation.groups)
        self._source = evaluation if lines is None else lines
        self._source_groups = list(self._source.groups)
        self._units = joined(self._source.group_units.values())
        self._drawn = resamples(self._units, seed=seed)
        self._sums = None if self._drawn is None else self._drawn.sums(self._units)

    def value(self, metric: Metric) -> float | None:
        """Return the metric on all text; None if the denominator is 0."""
        if self.aggregation == "pooled":
            return metric.value(self._total, self._evaluation.vocabulary)
        if self.aggregation == "macro":
            return _mean([self._pooled(metric, group) for group in self._groups])
        return _mean_of_documents(metric, [*self._evaluation.group_units.values()])

    def group_value(self, metric: Metric, group: str) -> float | None:
        """Return the metric on the text of a group; None if the denominator is 0."""
        if self.aggregation == "per_document":
            return _mean_of_documents(metric, [self._evaluation.group_units[group]])
        return self._pooled(metric, group)

    @property
    def num_units(self) -> int:
        """Number of units that resamples draw from: files, aligned lines, single documents; or buckets of these."""
        return len(self._units.keys)

    def group_units(self, group: str) -> int:
        """Return the number of units of a group."""
        return len(self._source.group_units[group].keys) if group in self._source.group_units else 0

    def resampled(self, metric: Metric) -> Resampled | None:
        """Return the metric in each resample of all documents.

        Returns:
            None for a metric that is neither a ratio of counts per document nor one of frequencies, for too
            few units, and if the denominator of a resample is 0.
        """
        if self._drawn is None or self._sums is None:
            return None
        if metric.of_frequencies and self.aggregation == "pooled":
            return self._jackknifed(metric)
        if not self._can_be_resampled(metric, self._source_groups):
            return None
        if self.aggregation == "macro":
            sums = [self._drawn.sums(self._source.group_units[group]) for group in self._source_groups]
            values = _mean_of_groups(metric, sums)
            whole = [_sum_of(self._source.group_units[group]) for group in self._source_groups]
            estimate = _mean_of_groups(metric, whole)[0]
        else:
            figure = self._figure
            values, estimate = figure(metric, self._sums), figure(metric, _sum_of(self._units))[0]
        return self._shifted(self.value(metric), estimate, values, self._drawn)

    def group_resampled(self, metrics: Sequence[Metric], group: str) -> list[Resampled | None]:
        """Return several metrics in each resample of the documents of a group; see `resampled`."""
        units = self._source.group_units.get(group)
        drawn = None if units is None else resamples(units, seed=self._seed)
        if units is None or drawn is None:
            return [None] * len(metrics)
        sums, whole, figure = drawn.sums(units), _sum_of(units), self._figure
        return [
            self._shifted(
                self.group_value(metric, group), figure(metric, whole)[0], figure(metric, sums), drawn
            )
            if self._can_be_resampled(metric, [group])
            else None
            for metric in metrics
        ]

    def relative_tokens(self, base: Aggregate) -> Resampled | None:
        """Return the ratio of the tokens of all text to the baseline's in each resample, under any aggregation.

        Returns:
            None for too few units, and if the baseline has no tokens.
        """
        column = _COLUMNS["tokens"]
        estimate = ratio(self._total["tokens"], base._total["tokens"])
        around = ratio(self._source.total["tokens"], base._source.total["tokens"])
        if (
            self._drawn is None
            or self._sums is None
            or base._sums is None
            or estimate is None
            or around is None
        ):
            return None
        values = divided(self._sums[:, column], base._sums[:, column])
        if np.isnan(values).any():
            return None
        return Resampled(estimate, values + (estimate - around), self._drawn.num_units)

    def _pooled(self, metric: Metric, group: str) -> float | None:
        return metric.value(self._evaluation.groups[group], self._evaluation.vocabulary)

    @property
    def _figure(self) -> Callable[[Metric, NDArray[np.float64]], NDArray[np.float64]]:
        """The function that computes a figure from each row of sums, unless the aggregation is by group."""
        return means_of if self.aggregation == "per_document" else ratios_of

    def _can_be_resampled(self, metric: Metric, groups: Collection[str]) -> bool:
        """Whether a metric can be resampled on groups: a share of files cannot be if lines are drawn."""
        is_of_files = not {*metric.denominator}.isdisjoint(_OF_WHOLE_DOCUMENTS)
        return is_by_document(metric) and not (
            is_of_files and not self._source.line_groups.isdisjoint(groups)
        )

    def _jackknifed(self, metric: Metric) -> Resampled | None:
        """Return the jackknife values of a metric of frequencies, leaving out one set of units at a time."""
        source, value = self._source, self.value(metric)
        whole, estimate = source.total, metric.value(source.total, source.vocabulary)
        found = [
            metric.value(replace(whole, frequencies=source.frequencies - without), source.vocabulary)
            for without in source.set_frequencies
        ]
        known = [figure for figure in found if figure is not None]
        if value is None or estimate is None or len(known) < max(len(found), FEWEST_UNITS):
            return None
        return Resampled(value, np.array(known) + (value - estimate), len(known), is_jackknife=True)

    def _shifted(
        self,
        value: float | None,
        estimate: float,
        values: NDArray[np.float64],
        drawn: Resamples,
    ) -> Resampled | None:
        """Shift resamples of aligned lines to the figure of the whole files, whose text differs slightly."""
        if value is None or np.isnan(values).any() or np.isnan(estimate):
            return None
        if self._source is not self._evaluation:
            values = values + (value - estimate)
        return Resampled(value, values, drawn.num_units)


def _sum_of(units: UnitCounts) -> NDArray[np.float64]:
    """Return the sums over all units, float64[1, K]."""
    return np.asarray(units.counts.sum(axis=0, keepdims=True), np.float64)


def _mean_of_documents(metric: Metric, groups: Sequence[UnitCounts]) -> float | None:
    if not is_by_document(metric):
        return None
    mean = float(means_of(metric, np.sum([_sum_of(units) for units in groups], axis=0))[0])
    return None if np.isnan(mean) else mean


def _mean_of_groups(metric: Metric, sums: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    values = np.stack([ratios_of(metric, group) for group in sums])
    is_known = ~np.isnan(values)
    return divided(np.where(is_known, values, 0).sum(axis=0), is_known.sum(axis=0).astype(np.float64))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def percent(share: float) -> str:
    """Format a share in percent; only 0 and 1 are shown as 0 % and 100 %.

    >>> percent(0.99996), percent(0.5), percent(0.0001), percent(0.0)
    ('99.9 %', '50.0 %', '0.1 %', '0.0 %')
    """
    return f"{min(max(share * 100, 0.1), 99.9) if 0 < share < 1 else share * 100:.1f} %"


_ONE = {
    "documents": "document",
    "blocks of lines": "block of lines",
    "documents and blocks of lines": "document or block of lines",
}


def counted_parts(number: int, unit: str) -> str:
    """Format a number of documents or blocks with its unit, which is spelled as in `Holdout.unit`.

    >>> counted_parts(1, "documents"), counted_parts(1_200, "blocks of lines"), counted_parts(1, "blocks of lines")
    ('1 document', '1,200 blocks of lines', '1 block of lines')
    """
    return f"{number:,} {unit if number != 1 else _ONE.get(unit, unit)}"


def listed(names: Sequence[str]) -> str:
    """Join names with commas and "and".

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def among(num_lossless: int, num_all: int) -> str:
    """Say which tokenizers a superlative is about: a tokenizer that loses text is the best only if all lose some.

    >>> among(2, 3), among(0, 3), among(3, 3)
    ('of the lossless tokenizers, ', 'all tokenizers lose text; ', '')
    """
    if num_lossless == num_all:
        return ""
    return "of the lossless tokenizers, " if num_lossless else "all tokenizers lose text; "


def significant(value: float) -> str:
    """Format a number with four significant digits; from 1000 on, as an integer.

    >>> significant(96_290.4), significant(0.72243), significant(2.5), significant(1.2e-7)
    ('96,290', '0.7224', '2.5', '1.2e-07')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
