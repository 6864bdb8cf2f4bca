"""Aggregate metrics over documents: as a ratio of sums, or as a mean over groups or documents; also in resamples."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import numpy as np

from tokbench.metrics.bootstrap import FEWEST_UNITS, Resampled, resamples
from tokbench.metrics.metric import Aggregation, ratio
from tokbench.metrics.tally import DOCUMENT_COUNTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokbench.evaluation.counting_pass import Evaluation
    from tokbench.metrics.bootstrap import Resamples
    from tokbench.metrics.metric import Metric

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
            evaluation: what was counted; figures are of this.
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
        self._drawn = resamples(self._source.document_units, seed=seed)
        self._sums = None if self._drawn is None else self._drawn.sums(self._source.document_counts)

    def value(self, metric: Metric) -> float | None:
        """The metric on all text; None where there is nothing to divide by."""
        if self.aggregation == "pooled":
            return metric.value(self._total, self._evaluation.vocabulary)
        if self.aggregation == "macro":
            return _mean([self._pooled(metric, group) for group in self._groups])
        return self._mean_of_documents(metric, self._evaluation.document_counts)

    def group_value(self, metric: Metric, group: str) -> float | None:
        """The metric on the text of a group; None where there is nothing to divide by."""
        if self.aggregation == "per_document":
            is_in = self._evaluation.document_groups == self._groups.index(group)
            return self._mean_of_documents(metric, self._evaluation.document_counts[is_in])
        return self._pooled(metric, group)

    @property
    def num_units(self) -> int:
        """What is drawn from: files, aligned lines, documents that were drawn by themselves."""
        return self._source.num_units

    def group_units(self, group: str) -> int:
        """The same of a group."""
        return len(np.unique(self._source.document_units[self._is_in(group)]))

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
        if not self._is_drawn(metric, self._source.document_units):
            return None
        counts = self._source.document_counts
        if self.aggregation == "pooled":
            values = _whole(_ratios(metric, self._sums))
            estimate = _ratios(metric, counts.sum(axis=0, keepdims=True))[0]
        elif self.aggregation == "macro":
            values = _whole(_mean_of_groups(metric, self._sums_by_group(self._drawn)))
            estimate = _mean_of_groups(metric, [self._sum_of(group) for group in self._source_groups])[0]
        else:
            values = self._resampled_mean(metric, self._drawn, counts)
            estimate = self._mean_of_documents(metric, counts)
        return self._moved(self.value(metric), estimate, values, self._drawn)

    def group_resampled(self, metrics: Sequence[Metric], group: str) -> list[Resampled | None]:
        """Some metrics in each resample of the documents of a group; as `resampled`."""
        is_in = self._is_in(group)
        counts: NDArray[np.int64] = self._source.document_counts[is_in]
        units: NDArray[np.int64] = self._source.document_units[is_in]
        drawn = resamples(units, seed=self._seed)
        if drawn is None:
            return [None] * len(metrics)
        sums = drawn.sums(counts)
        found: list[Resampled | None] = []
        for metric in metrics:
            values, estimate = None, None
            if self._is_drawn(metric, units) and self.aggregation == "per_document":
                values = self._resampled_mean(metric, drawn, counts)
                estimate = self._mean_of_documents(metric, counts)
            elif self._is_drawn(metric, units):
                values = _whole(_ratios(metric, sums))
                estimate = _ratios(metric, counts.sum(axis=0, keepdims=True))[0]
            found.append(self._moved(self.group_value(metric, group), estimate, values, drawn))
        return found

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
        values = _whole(_divided(self._sums[:, column], base._sums[:, column]))
        return (
            None
            if values is None
            else Resampled(estimate, values + (estimate - around), self._drawn.num_units)
        )

    def _pooled(self, metric: Metric, group: str) -> float | None:
        return metric.value(self._evaluation.groups[group], self._evaluation.vocabulary)

    def _is_in(self, group: str) -> NDArray[np.bool_]:
        """bool[D], which documents that are drawn from are of a group; none where its lines have no text."""
        position = self._source_groups.index(group) if group in self._source_groups else -1
        return np.equal(self._source.document_groups, position)

    def _is_drawn(self, metric: Metric, units: NDArray[np.int64]) -> bool:
        """Whether a metric can be resampled: not a share of files where lines are drawn."""
        is_of_files = not {*metric.denominator}.isdisjoint(_OF_WHOLE_DOCUMENTS)
        return is_by_document(metric) and not (
            is_of_files and bool(np.isin(units, self._source.line_units).any())
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

    def _sum_of(self, group: str) -> NDArray[np.float64]:
        counts = self._source.document_counts[self._is_in(group)]
        return np.asarray(counts.sum(axis=0, keepdims=True), np.float64)

    def _sums_by_group(self, drawn: Resamples) -> list[NDArray[np.float64]]:
        return [
            drawn.sums(self._source.document_counts[documents], documents=documents)
            for documents in (np.flatnonzero(self._is_in(group)) for group in self._source_groups)
        ]

    def _moved(
        self,
        value: float | None,
        estimate: float | None,
        values: NDArray[np.float64] | None,
        drawn: Resamples,
    ) -> Resampled | None:
        """Resamples around the figure itself: what is drawn is not quite what the figure is of where lines are."""
        if value is None or values is None or estimate is None or np.isnan(estimate):
            return None
        if self._source is not self._evaluation:
            values = values + (value - estimate)
        return Resampled(value, values, drawn.num_units)

    @staticmethod
    def _mean_of_documents(metric: Metric, counts: NDArray[np.int64]) -> float | None:
        if not is_by_document(metric):
            return None
        values = _ratios(metric, counts)
        return _mean(values[~np.isnan(values)].tolist())

    @staticmethod
    def _resampled_mean(
        metric: Metric, drawn: Resamples, counts: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        values = _ratios(metric, counts)
        is_known = ~np.isnan(values)
        return drawn.ratios(np.where(is_known, values, 0), is_known.astype(np.float64))


def is_by_document(metric: Metric) -> bool:
    """Whether a metric is a ratio of counts that are kept for each document."""
    return metric.compute is None and {*metric.numerator, *metric.denominator} <= set(DOCUMENT_COUNTS)


def _ratios(metric: Metric, counts: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
    """The metric of each row of counts; NaN where there is nothing to divide by."""
    above = sum(counts[:, _COLUMNS[name]] for name in metric.numerator)
    below = sum(counts[:, _COLUMNS[name]] for name in metric.denominator)
    values = _divided(np.asarray(above, np.float64), np.asarray(below, np.float64))
    return 1 - values if metric.complement else values


def _divided(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    values = np.full(len(below), np.nan)
    np.divide(above, below, out=values, where=below != 0)
    return values


def _mean_of_groups(metric: Metric, sums: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    values = np.stack([_ratios(metric, group) for group in sums])
    is_known = ~np.isnan(values)
    return _divided(np.where(is_known, values, 0).sum(axis=0), is_known.sum(axis=0).astype(np.float64))


def _whole(values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    return None if np.isnan(values).any() else values


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
