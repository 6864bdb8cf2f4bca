"""Counts by unit for tests: numbers as keys, and where what was counted of a document ends up."""

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
    """The sums of some columns by unit; of none, the units alone."""
    rows = np.stack([np.asarray(column) for column in columns], axis=1) if columns else np.empty((0, 0))
    numbers = np.asarray(keys, dtype=np.uint64)
    return joined([UnitCounts(numbers, rows if columns else np.empty((len(numbers), 0), np.int64))])


def each(number: int, *columns: ArrayLike) -> UnitCounts:
    """As many documents, each a unit by itself."""
    return units_of(np.arange(number), *columns)


def ratios(drawn: Resamples, units: UnitCounts) -> NDArray[np.float64]:
    """The ratio of the sums of two columns in every resample."""
    above, below = drawn.sums(units).T
    return np.asarray(above / below, np.float64)


def placed(documents: Iterable[Document]) -> list[Document]:
    """Documents that are known by a place each, as those of a corpus are, wherever they stand among others."""
    return [replace(document, place=(number, 0)) for number, document in enumerate(documents)]


def rows_of(evaluation: Evaluation, documents: Sequence[Document]) -> NDArray[np.int64]:
    """int64[D, len(DOCUMENT_COUNTS)], what was counted of each document; each is a unit by itself."""
    keys = UnitKeys().of(documents)
    found = np.empty((len(documents), len(DOCUMENT_COUNTS)), np.int64)
    for position, (document, key) in enumerate(zip(documents, keys, strict=True)):
        units = evaluation.group_units[document.group]
        found[position] = units.counts[np.searchsorted(units.keys, key), : len(DOCUMENT_COUNTS)]
    return found


def column(evaluation: Evaluation, documents: Sequence[Document], name: str) -> list[int]:
    """One of the counts of each document."""
    values: list[int] = rows_of(evaluation, documents)[:, DOCUMENT_COUNTS.index(name)].tolist()
    return values
