"""Counting a text within a memory limit, to train on its words at once.

Words that do not fit into memory are written to a temporary file, possibly several times. For training, the file is
added up by hash parts: memory then holds the words of one part, and the data that the backend derives from all words.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.core.counted_words import PART_SEED, PARTS, RareWords, WordArrays, WordTotals, frequent_words
from tokbench.core.training import identity_of
from tokbench.counting.joining import summing_counter
from tokbench.counting.part_task import Spill
from tokbench.errors import ConfigError
from tokbench.files.storage.open import place_of
from tokbench.words.parquet import open_words_file, open_writer, require_pyarrow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tokbench.core.counted_words import WordCounting
    from tokbench.core.documents import TextIdentity
    from tokbench.core.progress import Progress

PROCESS_BYTES = 270_000_000
"""The memory of a process besides words: Python, libraries, and blocks of text in transit."""

LEAST_MEMORY = 400_000_000
"""The least memory limit: below it, the table would be written out too often."""

_TABLE_GROWTH = 2
"""A growing table temporarily takes twice its size."""


@dataclass(frozen=True, slots=True)
class SpilledWords:
    """Words in a temporary file; see `tokbench.core.counted_words.CountedWords`.

    Attributes:
        path: the file, in which words are grouped by hash parts.
        parts: the hash part of each group.
        totals: the totals of the text.
        memory: the bytes that training on the words may take.
        rare: the words that are dropped because they are rare.
        identify_text: returns the identity of their text.
        seconds: the time that counting took.
    """

    path: Path
    parts: Sequence[int]
    totals: WordTotals
    memory: int
    rare: RareWords
    identify_text: Callable[[], TextIdentity] | None
    seconds: float

    @property
    def record(self) -> Mapping[str, Any] | None:
        """The words of the text that are dropped, for the training record; None if none are."""
        return {"min_count": self.rare.min_count} if self.rare.min_count > 1 else None

    def arrays(self) -> Iterator[WordArrays]:
        """Yield all sufficiently frequent words, part by part. Raises `TrainingError` if there are none."""
        return frequent_words(self._all_words(), rare=self.rare)

    def _all_words(self) -> Iterator[WordArrays]:
        with open_words_file(place_of(self.path)) as file:
            for part in range(PARTS):
                counter = summing_counter()
                for words in file.arrays(
                    [group for group, hash_part in enumerate(self.parts) if hash_part == part]
                ):
                    counter.add_arrays(*words)
                yield WordArrays(*counter.arrays())


@contextmanager
def count_within(
    documents: Iterable[str],
    counting: WordCounting,
    *,
    memory: int,
    min_count: int = 1,
    threads: int,
    progress: Progress,
) -> Iterator[SpilledWords]:
    """Count documents within a memory limit; the words are available until the block ends.

    Args:
        documents: read once.
        counting: how to count.
        memory: the bytes that the process may take, for counting and for training on the words.
        min_count: rarer words are dropped, after everything is counted.
        threads: the number of threads to use.
        progress: called with the share of the work that is done.

    Raises:
        ConfigError: the memory is too little for counting.
        CorpusError, TrainingError: as `WordCounting.count`.
        StoreError: there is no room for the file.
        BackendUnavailableError: pyarrow is not installed.
    """
    require_pyarrow()
    if memory < LEAST_MEMORY:
        raise ConfigError(
            f"--memory of {memory:,} bytes is too little: the program itself takes about "
            f"{PROCESS_BYTES / 1e6:,.0f} MB",
            hint=f"give it {LEAST_MEMORY / 1e6:,.0f}MB or more",
        )
    left = memory - PROCESS_BYTES
    started = time.perf_counter()
    counter = counting.new_counter(threads=threads, seed=PART_SEED)
    with tempfile.TemporaryDirectory(prefix="tokbench-words-") as temporary:
        path = Path(temporary) / "words.parquet"
        with open_writer(path) as writer:
            spill = Spill(counting, counter, writer, memory=left // _TABLE_GROWTH, progress=progress)
            counting.count(counter, documents, progress=spill)
            spill.write()
        totals = WordTotals(
            documents=counter.documents,
            num_bytes=counter.num_bytes,
            words=spill.words,
            too_long=getattr(counter, "too_long", 0),
        )
        del counter
        yield SpilledWords(
            path=path,
            parts=spill.parts,
            totals=totals,
            memory=left,
            rare=RareWords(min_count),
            identify_text=identity_of(documents),
            seconds=time.perf_counter() - started,
        )
