"""Spilling a counter's table to a file when it grows too large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.counted_words import PARTS, WordArrays

if TYPE_CHECKING:
    from tokbench.core.counted_words import WordCounter, WordCounting
    from tokbench.core.progress import Progress
    from tokbench.words.parquet import WordsWriter


class Spill:
    """Progress callback of a count that spills the counter's table to a file of words when it has grown too large.

    Attributes:
        words: the number of word occurrences that were written.
        parts: the hash part of each row group that was written.
    """

    def __init__(
        self,
        counting: WordCounting,
        counter: WordCounter,
        writer: WordsWriter,
        *,
        memory: int,
        progress: Progress,
    ) -> None:
        """Start with nothing written.

        Args:
            counting: drains the counter.
            counter: a counter whose parts are those of `PART_SEED`.
            writer: the writer of the file.
            memory: the limit of the table in bytes.
            progress: called with the same arguments as this object.
        """
        self.words = 0
        self.parts: list[int] = []
        self._counting, self._counter, self._writer = counting, counter, writer
        self._memory, self._progress = memory, progress

    def __call__(self, phase: str, done: int, total: int | None, unit: str) -> None:
        """See `tokbench.core.progress.Progress`."""
        self._progress(phase, done, total, unit)
        if self._counter.memory > self._memory:
            self.write()

    def write(self) -> None:
        """Write out the counted words, and clear them."""
        self._counting.drain(self._counter)
        for part in range(PARTS):
            words = WordArrays(*self._counter.arrays(part, part + 1))
            self.words += int(words.counts.sum())
            self.parts += [part] * self._writer.write(words)
        self._counter.clear_counts()
