"""Metrics over many documents, and in resamples of them: of the sums, or as a mean over groups or documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from tokbench.metrics.counts import DOCUMENT_COUNTS
from tokbench.metrics.intervals import resamples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokbench.evaluation.measuring import Evaluation
    from tokbench.metrics.catalogue import Metric
    from tokbench.metrics.intervals import Resamples

Aggregation = Literal["pooled", "macro", "per_document"]
AGGREGATIONS: tuple[Aggregation, ...] = get_args(Aggregation)
"""A ratio of sums over all documents; the mean over groups of those; the mean over documents of their ratios."""

_COLUMNS = {name: column for column, name in enumerate(DOCUMENT_COUNTS)}


class Aggregate:
    """The metrics of one tokenizer, aggregated in one way, over all documents or those of a group.

    What has no value (a group without words, a document without tokens) has no part in a mean. Over the
    documents of one group "macro" is "pooled".
    """

    def __init__(self, evaluation: Evaluation, *, seed: int = 0, aggregation: Aggregation = "pooled") -> None:
        """Prepare the resamples, which are the same for every tokenizer that was given the same documents.

        Args:
            evaluation: what was counted.
            seed: draws the resamples.
            aggregation: how documents become one figure.
        """
        self.aggregation: Aggregation = aggregation
        self._evaluation = evaluation
        self._seed = seed
        self._total = evaluation.total
        self._groups = list(evaluation.groups)
        self._drawn = resamples(len(evaluation.document_groups), seed=seed)
        self._sums = None if self._drawn is None else self._drawn.sums(evaluation.document_counts)

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
            return self._mean_of_documents(metric, self._counts_of(group))
        return self._pooled(metric, group)

    def resampled(self, metric: Metric) -> NDArray[np.float64] | None:
        """The metric in each resample of all documents.

        Returns:
            float64[R]; None for a metric that is no ratio of counts by document, for fewer than two
            documents, and where a resample has nothing to divide by.
        """
        if self._drawn is None or self._sums is None or not is_by_document(metric):
            return None
        if self.aggregation == "pooled":
            return _whole(_ratios(metric, self._sums))
        if self.aggregation == "macro":
            return _whole(_mean_of_groups(metric, self._sums_by_group(self._drawn)))
        return self._resampled_mean(metric, self._drawn, self._evaluation.document_counts)

    def group_resampled(self, metrics: Sequence[Metric], group: str) -> list[NDArray[np.float64] | None]:
        """Some metrics in each resample of the documents of a group; as `resampled`."""
        counts = self._counts_of(group)
        drawn = resamples(len(counts), seed=self._seed)
        if drawn is None:
            return [None] * len(metrics)
        if self.aggregation == "per_document":
            return [
                self._resampled_mean(metric, drawn, counts) if is_by_document(metric) else None
                for metric in metrics
            ]
        sums = drawn.sums(counts)
        return [_whole(_ratios(metric, sums)) if is_by_document(metric) else None for metric in metrics]

    def _pooled(self, metric: Metric, group: str) -> float | None:
        return metric.value(self._evaluation.groups[group], self._evaluation.vocabulary)

    def _counts_of(self, group: str) -> NDArray[np.int64]:
        counts: NDArray[np.int64] = self._evaluation.document_counts[
            self._evaluation.document_groups == self._groups.index(group)
        ]
        return counts

    def _sums_by_group(self, drawn: Resamples) -> list[NDArray[np.float64]]:
        groups = self._evaluation.document_groups
        return [
            drawn.sums(self._evaluation.document_counts[documents], documents=documents)
            for documents in (np.flatnonzero(groups == place) for place in range(len(self._groups)))
        ]

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
