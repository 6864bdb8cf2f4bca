"""Input of words that were counted earlier into the counters that backends train from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from tokbench.core.counted_words import PARTS, WordArrays
from tokbench.core.training import limits_reported
from tokbench.errors import TrainingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.counted_words import CountedWords, WordCounter
    from tokbench.core.interfaces import TrainingRecord
    from tokbench.core.progress import Progress

MOST_STEPS = 1 << 31
"""The most steps in the merger's list of short words, limited by the width of its indices
(`native/training/short_words.hpp`)."""

STEP_UNITS = 8
_HEADER_UNITS = 3
_SHORT_BYTES = 100
COUNTS_TOLD = 64
"""The largest --min-count that an error proposes; kCountsTold of `native/sentencepiece_training/segments.hpp`."""


@dataclass(frozen=True, slots=True)
class Room:
    """A limit on a resource that words take.

    Attributes:
        most: the limit for all words together.
        cost_of: sizes of words in bytes → the amount that each word takes.
        message: amount → the error message for words that exceed the limit.
        more: an addition to the hint, naming another remedy.
    """

    most: int
    cost_of: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    message: Callable[[float], str]
    more: str = ""


def merger_room(most_steps: int = MOST_STEPS, *, step: int = STEP_UNITS) -> Room:
    """Return the limit of the merger: a word takes at most its symbols and three more units, rounded up to steps.

    Args:
        most_steps: the limit in steps.
        step: the units of one step; 1 for a merger without wider steps.

    >>> import numpy as np
    >>> merger_room().cost_of(np.array([1, 2, 6, 100, 101])).tolist()
    [0, 1, 2, 13, 13]
    >>> merger_room(step=1).cost_of(np.array([1, 2, 6, 100, 101])).tolist()
    [0, 5, 9, 103, 103]
    """
    import numpy as np

    return Room(
        most_steps,
        lambda sizes: (sizes > 1) * -(-(np.minimum(sizes, _SHORT_BYTES) + _HEADER_UNITS) // step),
        lambda steps: f"the distinct words take {steps / most_steps:.1f} times what can be merged at once",
    )


def is_short(sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether words of these sizes are in the list of short words; others are stored separately, or never merged.

    >>> import numpy as np
    >>> is_short(np.array([1, 2, 100, 101])).tolist()
    [False, True, True, False]
    """
    short: NDArray[np.bool_] = (sizes > 1) & (sizes <= _SHORT_BYTES)
    return short


class _HasTraining(Protocol):
    training: TrainingRecord | None


class _WordReceiver(Protocol):
    """A counter, or another receiver of words."""

    def add_arrays(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> None: ...

    def add_totals(self, *, documents: int, num_bytes: int, pretokens: int) -> None: ...


def add_words(
    counter: _WordReceiver, words: CountedWords, *, progress: Progress, rooms: Sequence[Room] = ()
) -> None:
    """Feed counted words to the counter that a backend trains from.

    Args:
        counter: receives the words.
        words: the words, each of them once.
        progress: called with the number of words read.
        rooms: the limits of the training.

    Raises:
        TrainingError: the words exceed a limit; raised before training begins.
        ModelFormatError: their files are damaged.
    """
    usages = [_Usage(room) for room in rooms]
    done = 0
    for arrays in words.arrays():
        for usage in usages:
            usage.add(arrays)
        if any(usage.is_too_much for usage in usages):
            continue  # the rest is only counted
        with limits_reported():
            counter.add_arrays(arrays.data, arrays.offsets, arrays.counts)
        done += len(arrays.counts)
        progress("reading words", done, None, "words")
    for usage in usages:
        usage.check()
    totals = words.totals
    counter.add_totals(
        documents=totals.documents or 0, num_bytes=totals.num_bytes, pretokens=totals.words + totals.too_long
    )


def check_counted(*counters: WordCounter, room: Room | None = None, hint: str | None) -> None:
    """Raise `TrainingError` for counters whose words exceed what can be merged.

    Args:
        counters: counters that have counted everything.
        room: the limit for the words of all counters; by default `merger_room()`.
        hint: how the error spells a --min-count; None if it cannot be given.
    """
    room = room or merger_room()
    if (
        sum(counter.memory for counter in counters) < room.most
    ):  # tables take more bytes than the merger units
        return
    parts = (WordArrays(*counter.arrays(part, part + 1)) for counter in counters for part in range(PARTS))
    check_room(parts, room=room, hint=hint)


def check_room(words: Iterable[WordArrays], *, room: Room, hint: str | None) -> None:
    """Check words in arrays as `check_counted` does; only their sizes and counts are used."""
    usage = _Usage(room)
    for arrays in words:
        usage.add(arrays)
    usage.check(hint)


def with_words(tokenizer: _HasTraining, words: CountedWords) -> None:
    """Record in a tokenizer's training record, if it has one, which counted words it learned from, and leave a note."""
    if tokenizer.training is not None and words.record is not None:
        note = words.rare.note(words.totals.words)
        whole = words.record.get("dropped") is None and words.record.get("min_count", 1) == 1
        tokenizer.training = replace(
            tokenizer.training,
            documents=words.totals.documents,
            tokens=tokenizer.training.tokens if whole else None,
            words=words.record,
            notes=(*tokenizer.training.notes, *note),
        )


class _Usage:
    """The amount of a resource that words take."""

    def __init__(self, room: Room) -> None:
        import numpy as np

        self._room = room
        self._by_count = np.zeros(COUNTS_TOLD + 1)
        """The amount by the words' counts; the last entry sums all larger counts."""

    def add(self, arrays: WordArrays) -> None:
        import numpy as np

        costs = self._room.cost_of(np.diff(arrays.offsets))
        counts = np.minimum(arrays.counts, COUNTS_TOLD)
        self._by_count += np.bincount(counts, weights=costs, minlength=COUNTS_TOLD + 1)

    @property
    def is_too_much(self) -> bool:
        return bool(self._by_count.sum() >= self._room.most)

    def check(self, given_as: str | None = "") -> None:
        """Raise `TrainingError` if the words exceed the limit."""
        if self.is_too_much:
            room = self._room
            raise too_much(
                self._by_count,
                most=room.most,
                message=room.message(float(self._by_count.sum())),
                hint=given_as,
                more=room.more,
            )


def too_much(
    costs: NDArray[np.float64], *, most: int, message: str, hint: str | None, more: str = ""
) -> TrainingError:
    """Return the error for words that exceed a limit.

    Args:
        costs: the amount that words with count 0, 1, 2, … take; the last entry is for `COUNTS_TOLD` and more.
        most: the limit for all words together.
        message: the error message.
        hint: how the error spells a --min-count; None if it cannot be given.
        more: an addition to the hint.
    """
    if hint is None:
        return TrainingError(message, hint="train on less text")
    fitting = [k for k in range(2, COUNTS_TOLD + 1) if costs[k:].sum() < most]
    few = f"{hint}--min-count {fitting[0]}" if fitting else f"a --min-count above {COUNTS_TOLD}"
    return TrainingError(
        message, hint=f"{few} leaves out the rarest words, and is the smallest that works{more}"
    )
