"""Counts by unit for tests: numbers as keys, and the counts of each document."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tokbench.evaluation.units import UnitKeys
from tokbench.metrics.metric import DOCUMENT_COUNTS
from tokbench.metrics.unit_counts import UnitCounts, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from tokbench.corpus import Document
    from tokbench.evaluation.counting_pass import Evaluation
    from tokbench.metrics.bootstrap import Resamples


def units_of(keys: ArrayLike, *columns: ArrayLike) -> UnitCounts:
    """Build the counts of some columns by unit; without columns, the units alone."""
    rows = np.stack([np.asarray(column) for column in columns], axis=1) if columns else np.empty((0, 0))
    numbers = np.asarray(keys, dtype=np.uint64)
    return joined([UnitCounts(numbers, rows if columns else np.empty((len(numbers), 0), np.int64))])


def one_document_units(number: int, *columns: ArrayLike) -> UnitCounts:
    """Build the counts of `number` documents, each of which is a unit."""
    return units_of(np.arange(number), *columns)


def ratios(drawn: Resamples, units: UnitCounts) -> NDArray[np.float64]:
    """Return the ratio of the sums of two columns in every resample."""
    above, below = drawn.sums(units).T
    return np.asarray(above / below, np.float64)


def with_places(documents: Iterable[Document]) -> list[Document]:
    """Return documents that are identified by their places in a corpus, whatever their order."""
    return [replace(document, place=(number, 0)) for number, document in enumerate(documents)]


def rows_of(evaluation: Evaluation, documents: Sequence[Document]) -> NDArray[np.int64]:
    """Return the counts of each document, which is a unit, as int64[D, len(DOCUMENT_COUNTS)]."""
    keys = UnitKeys().of(documents)
    rows = np.empty((len(documents), len(DOCUMENT_COUNTS)), np.int64)
    for position, (document, key) in enumerate(zip(documents, keys, strict=True)):
        units = evaluation.group_units[document.group]
        rows[position] = units.counts[np.searchsorted(units.keys, key), : len(DOCUMENT_COUNTS)]
    return rows


def column(evaluation: Evaluation, documents: Sequence[Document], name: str) -> list[int]:
    """Return one of the counts for each document."""
    return rows_of(evaluation, documents)[:, DOCUMENT_COUNTS.index(name)].tolist()
