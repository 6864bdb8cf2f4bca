"""Words that were counted before, as what a backend learns from."""

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
"""Of the merger's list of short words, as widely as they are numbered (`native/training/short_words.hpp`)."""

STEP_UNITS = 8
_HEADER_UNITS = 3
_SHORT_BYTES = 100
COUNTS_TOLD = 64
"""The largest --min-count that an error proposes; kCountsTold of `native/sentencepiece_training/segments.hpp`."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much there is of something that words take.

    Attributes:
        most: what all words together may take.
        cost_of: what words of some sizes in bytes take, each.
        message: says in an error what is wrong where they take so much.
        more: what its hint says besides, of another way out.
    """

    most: int
    cost_of: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    message: Callable[[float], str]
    more: str = ""


def merger_room(most_steps: int = MOST_STEPS, *, step: int = STEP_UNITS) -> Room:
    """What the merger numbers: a word takes at most its symbols and three units more, rounded up to steps.

    Args:
        most_steps: how many.
        step: units of one; 1 where merging knows no wider ones.

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
    """Whether words of these sizes are in the list of short words; others are kept apart, or are never merged.

    >>> import numpy as np
    >>> is_short(np.array([1, 2, 100, 101])).tolist()
    [False, True, True, False]
    """
    found: NDArray[np.bool_] = (sizes > 1) & (sizes <= _SHORT_BYTES)
    return found


class _Trained(Protocol):
    training: TrainingRecord | None


class _TakesWords(Protocol):
    """A counter, or a list of words."""

    def add_arrays(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> None: ...

    def add_totals(self, *, documents: int, num_bytes: int, pretokens: int) -> None: ...


def add_words(
    counter: _TakesWords, words: CountedWords, *, progress: Progress, rooms: Sequence[Room] = ()
) -> None:
    """Put counted words into what a backend learns from.

    Args:
        counter: takes them.
        words: each of them once.
        progress: called with the number read.
        rooms: what learning has room for.

    Raises:
        TrainingError: they are more than there is room for, which is found out before anything is learned.
        ModelFormatError: their files are damaged.
    """
    taken = [_Taken(room) for room in rooms]
    done = 0
    for arrays in words.arrays():
        for one in taken:
            one.add(arrays)
        if any(one.is_too_much for one in taken):
            continue  # the rest is only counted
        with limits_reported():
            counter.add_arrays(arrays.data, arrays.offsets, arrays.counts)
        done += len(arrays.counts)
        progress("reading words", done, None, "words")
    for one in taken:
        one.check()
    totals = words.totals
    counter.add_totals(
        documents=totals.documents or 0, num_bytes=totals.num_bytes, pretokens=totals.words + totals.too_long
    )


def check_counted(*counters: WordCounter, room: Room | None = None, hint: str | None) -> None:
    """Raise `TrainingError` for counters whose words are more than can be merged.

    Args:
        counters: have counted everything.
        room: what the merger has room for, for the words of all; by default `merger_room()`.
        hint: where the error names a --min-count, how it is given; None where it cannot be.
    """
    room = room or merger_room()
    if sum(one.memory for one in counters) < room.most:  # tables take more bytes than the merger takes units
        return
    parts = (WordArrays(*one.arrays(part, part + 1)) for one in counters for part in range(PARTS))
    check_room(parts, room=room, hint=hint)


def check_room(words: Iterable[WordArrays], *, room: Room, hint: str | None) -> None:
    """The same of words in arrays, of which only sizes and counts are looked at."""
    taken = _Taken(room)
    for arrays in words:
        taken.add(arrays)
    taken.check(hint)


def with_words(tokenizer: _Trained, words: CountedWords) -> None:
    """Tell in the record of a training which counted words it learned from, where they have a record."""
    if tokenizer.training is not None and words.record is not None:
        whole = words.record.get("dropped") is None and words.record.get("min_count", 1) == 1
        tokenizer.training = replace(
            tokenizer.training,
            documents=words.totals.documents,
            tokens=tokenizer.training.tokens if whole else None,
            words=words.record,
        )


class _Taken:
    """What words take of a room."""

    def __init__(self, room: Room) -> None:
        import numpy as np

        self._room = room
        self._by_count = np.zeros(COUNTS_TOLD + 1)
        """By their counts; all of larger counts together."""

    def add(self, arrays: WordArrays) -> None:
        import numpy as np

        costs = self._room.cost_of(np.diff(arrays.offsets))
        counts = np.minimum(arrays.counts, COUNTS_TOLD)
        self._by_count += np.bincount(counts, weights=costs, minlength=COUNTS_TOLD + 1)

    @property
    def is_too_much(self) -> bool:
        return bool(self._by_count.sum() >= self._room.most)

    def check(self, given_as: str | None = "") -> None:
        """Raise `TrainingError` where it is too much."""
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
    """The error of words that take more than there is room for.

    Args:
        costs: of words that occur 0, 1, 2, … times; the last of those that occur `COUNTS_TOLD` times or more.
        most: below which they must be together.
        message: what is wrong.
        hint: where a --min-count is named, how it is given; None where it cannot be.
        more: what the hint says besides.
    """
    if hint is None:
        return TrainingError(message, hint="train on less text")
    fitting = [k for k in range(2, COUNTS_TOLD + 1) if costs[k:].sum() < most]
    few = f"{hint}--min-count {fitting[0]}" if fitting else f"a --min-count above {COUNTS_TOLD}"
    return TrainingError(
        message, hint=f"{few} leaves out the rarest words, and is the smallest that works{more}"
    )
