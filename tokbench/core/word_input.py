"""Words that were counted before, as what a backend learns from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from tokbench.core.counting import limits_told
from tokbench.errors import TrainingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.counted_words import CountedWords, WordArrays, WordCounter
    from tokbench.core.interfaces import TrainingRecord
    from tokbench.core.progress import Progress

MOST_UNITS = 1 << 31
"""Of the merger's list of short words: their bytes, and a header for each (`native/training/short_words.hpp`)."""

_HEADER_UNITS = 3
_SHORT_BYTES = 255
_COUNTS_TOLD = 64
"""The largest --min-count that an error proposes."""


class _Trained(Protocol):
    training: TrainingRecord | None


def add_words(
    counter: WordCounter, words: CountedWords, *, progress: Progress, most_units: int | None = MOST_UNITS
) -> None:
    """Put counted words into a new counter.

    Args:
        counter: takes them.
        words: each of them once.
        progress: told how many are read.
        most_units: what the merger holds, in units of which a word takes its bytes and three more; None for no bound.

    Raises:
        TrainingError: they are more than the kernel can merge, which is found out before it is tried.
        ModelFormatError: their files are damaged.
    """
    import numpy as np

    units = np.zeros(_COUNTS_TOLD + 1)
    done = 0
    for arrays in words.arrays():
        units += _units_by_count(arrays)
        if most_units is not None and units.sum() >= most_units:
            continue  # the rest is only counted
        with limits_told():
            counter.add_arrays(arrays.data, arrays.offsets, arrays.counts)
        done += len(arrays.counts)
        progress("reading words", done, None, "words")
    if most_units is not None and units.sum() >= most_units:
        raise _too_many(units, most_units)
    totals = words.totals
    counter.add_totals(
        documents=totals.documents or 0, num_bytes=totals.num_bytes, pretokens=totals.words + totals.too_long
    )


def with_words(tokenizer: _Trained, words: CountedWords) -> None:
    """Tell in the record of a training which counted words it learned from."""
    if tokenizer.training is not None:
        whole = words.record.get("dropped") is None and words.record.get("min_count", 1) == 1
        tokenizer.training = replace(
            tokenizer.training,
            documents=words.totals.documents,
            tokens=tokenizer.training.tokens if whole else None,
            words=words.record,
        )


def _units_by_count(arrays: WordArrays) -> NDArray[np.float64]:
    """The units that words take, by their counts; all of larger counts together."""
    import numpy as np

    sizes = np.diff(arrays.offsets)
    units = np.where((sizes > 1) & (sizes <= _SHORT_BYTES), sizes + _HEADER_UNITS, 0)
    by_count = np.bincount(np.minimum(arrays.counts, _COUNTS_TOLD), weights=units, minlength=_COUNTS_TOLD + 1)
    return by_count.astype(np.float64)


def _too_many(units: NDArray[np.float64], most_units: int) -> TrainingError:
    fitting = [k for k in range(2, _COUNTS_TOLD + 1) if units[k:].sum() < most_units]
    few = f"--min-count {fitting[0]}" if fitting else f"a --min-count above {_COUNTS_TOLD}"
    return TrainingError(
        f"the distinct words take {units.sum() / most_units:.1f} times of what can be merged at once",
        hint=f"{few} leaves out the rarest of them, and is the smallest that works",
    )
