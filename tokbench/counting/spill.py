"""Empty the table of a counter into a file when it grows too large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.counted_words import PARTS, WordArrays

if TYPE_CHECKING:
    from tokbench.core.counted_words import WordCounter, WordCounting
    from tokbench.core.progress import Progress
    from tokbench.words.parquet import WordsWriter


class Spill:
    """Progress of a counting, which empties the counter's table into a file of words when it has grown too large.

    Attributes:
        words: occurrences of what is written.
        parts: the part by hash of each row group that is written.
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
        """Nothing is written yet.

        Args:
            counting: how the counter is drained.
            counter: its parts are by `PART_SEED`.
            writer: of the file.
            memory: bytes that the table may take.
            progress: called as this function is.
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
        """Write out what is counted, and forget it."""
        self._counting.drain(self._counter)
        for part in range(PARTS):
            words = WordArrays(*self._counter.arrays(part, part + 1))
            self.words += int(words.counts.sum())
            self.parts += [part] * self._writer.write(words)
        self._counter.clear_counts()
