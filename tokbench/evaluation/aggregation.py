"""Aggregate metrics over documents: as a ratio of sums, or as a mean over groups or documents; also in resamples."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import numpy as np

from tokbench.metrics.bootstrap import FEWEST_UNITS, Resampled, resamples
from tokbench.metrics.document_means import divided, is_by_document, means_of, ratios_of
from tokbench.metrics.metric import Aggregation, ratio
from tokbench.metrics.tally import DOCUMENT_COUNTS
from tokbench.metrics.unit_counts import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    from tokbench.evaluation.counting_pass import Evaluation
    from tokbench.metrics.bootstrap import Resamples
    from tokbench.metrics.metric import Metric
    from tokbench.metrics.unit_counts import UnitCounts

AGGREGATIONS: tuple[Aggregation, ...] = get_args(Aggregation)
"""A ratio of sums over all documents; the mean over groups of those; the mean over documents of their ratios."""

_OF_WHOLE_DOCUMENTS = frozenset({"documents", "checked_for_stability"})
_COLUMNS = {name: column for column, name in enumerate(DOCUMENT_COUNTS)}


class Aggregate:
    """The metrics of one tokenizer, aggregated in one way, over all documents or those of a group.

    What has no value (a group without words, a document without tokens) has no part in a mean. Over the
    documents of one group "macro" is "pooled".
    """

    def __init__(
        self,
        evaluation: Evaluation,
        *,
        lines: Evaluation | None = None,
        seed: int = 0,
        aggregation: Aggregation = "pooled",
    ) -> None:
        """Prepare the resamples, which are the same for every tokenizer that was given the same documents.

        Args:
            evaluation: what was counted; figures are of this. It has means where `aggregation` is "per_document".
            lines: what was counted of the same text where each aligned line is a document (`AlignedLines`);
                resamples are drawn from this, and what they give is moved to the figure of the whole files.
            seed: draws the resamples.
            aggregation: how documents become one figure.
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
        """The metric on all text; None where there is nothing to divide by."""
        if self.aggregation == "pooled":
            return metric.value(self._total, self._evaluation.vocabulary)
        if self.aggregation == "macro":
            return _mean([self._pooled(metric, group) for group in self._groups])
        return _mean_of_documents(metric, [*self._evaluation.group_units.values()])

    def group_value(self, metric: Metric, group: str) -> float | None:
        """The metric on the text of a group; None where there is nothing to divide by."""
        if self.aggregation == "per_document":
            return _mean_of_documents(metric, [self._evaluation.group_units[group]])
        return self._pooled(metric, group)

    @property
    def num_units(self) -> int:
        """What is drawn from: files, aligned lines, documents that were drawn by themselves; or lots of them."""
        return len(self._units.keys)

    def group_units(self, group: str) -> int:
        """The same of a group."""
        return len(self._source.group_units[group].keys) if group in self._source.group_units else 0

    def resampled(self, metric: Metric) -> Resampled | None:
        """The metric in each resample of all documents.

        Returns:
            None for a metric that is neither a ratio of counts by document nor one of frequencies, for too
            few units, and where a resample has nothing to divide by.
        """
        if self._drawn is None or self._sums is None:
            return None
        if metric.of_frequencies and self.aggregation == "pooled":
            return self._jackknifed(metric)
        if not self._is_drawn(metric, self._source_groups):
            return None
        if self.aggregation == "macro":
            sums = [self._drawn.sums(self._source.group_units[group]) for group in self._source_groups]
            values = _mean_of_groups(metric, sums)
            whole = [_sum_of(self._source.group_units[group]) for group in self._source_groups]
            estimate = _mean_of_groups(metric, whole)[0]
        else:
            figure = self._figure
            values, estimate = figure(metric, self._sums), figure(metric, _sum_of(self._units))[0]
        return self._moved(self.value(metric), estimate, values, self._drawn)

    def group_resampled(self, metrics: Sequence[Metric], group: str) -> list[Resampled | None]:
        """Some metrics in each resample of the documents of a group; as `resampled`."""
        units = self._source.group_units.get(group)
        drawn = None if units is None else resamples(units, seed=self._seed)
        if units is None or drawn is None:
            return [None] * len(metrics)
        sums, whole, figure = drawn.sums(units), _sum_of(units), self._figure
        return [
            self._moved(
                self.group_value(metric, group), figure(metric, whole)[0], figure(metric, sums), drawn
            )
            if self._is_drawn(metric, [group])
            else None
            for metric in metrics
        ]

    def relative_tokens(self, base: Aggregate) -> Resampled | None:
        """The tokens of all text over those that the baseline has on it, however documents become one figure.

        Returns:
            None for too few units, and where the baseline has no tokens.
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
        values = _whole(divided(self._sums[:, column], base._sums[:, column]))
        return (
            None
            if values is None
            else Resampled(estimate, values + (estimate - around), self._drawn.num_units)
        )

    def _pooled(self, metric: Metric, group: str) -> float | None:
        return metric.value(self._evaluation.groups[group], self._evaluation.vocabulary)

    @property
    def _figure(self) -> Callable[[Metric, NDArray[np.float64]], NDArray[np.float64]]:
        """What makes a figure of each row of sums, where groups do not matter."""
        return means_of if self.aggregation == "per_document" else ratios_of

    def _is_drawn(self, metric: Metric, groups: Collection[str]) -> bool:
        """Whether a metric can be resampled on some groups: not a share of files where lines are drawn."""
        is_of_files = not {*metric.denominator}.isdisjoint(_OF_WHOLE_DOCUMENTS)
        return is_by_document(metric) and not (
            is_of_files and not self._source.line_groups.isdisjoint(groups)
        )

    def _jackknifed(self, metric: Metric) -> Resampled | None:
        """A metric of frequencies without each set of units."""
        source, value = self._source, self.value(metric)
        whole, estimate = source.total, metric.value(source.total, source.vocabulary)
        found = [
            metric.value(replace(whole, frequencies=source.frequencies - without), source.vocabulary)
            for without in source.set_frequencies
        ]
        known = [one for one in found if one is not None]
        if value is None or estimate is None or len(known) < max(len(found), FEWEST_UNITS):
            return None
        return Resampled(value, np.array(known) + (value - estimate), len(known), is_jackknife=True)

    def _moved(
        self,
        value: float | None,
        estimate: float,
        values: NDArray[np.float64],
        drawn: Resamples,
    ) -> Resampled | None:
        """Resamples around the figure itself: what is drawn is not quite what the figure is of where lines are."""
        if value is None or np.isnan(values).any() or np.isnan(estimate):
            return None
        if self._source is not self._evaluation:
            values = values + (value - estimate)
        return Resampled(value, values, drawn.num_units)


def _sum_of(units: UnitCounts) -> NDArray[np.float64]:
    """float64[1, K], of all units."""
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


def _whole(values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    return None if np.isnan(values).any() else values


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
