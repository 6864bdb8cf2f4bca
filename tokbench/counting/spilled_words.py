"""Counting a text within a bound on memory, to learn from its words at once.

What does not fit is written to a temporary file, in which a word may stand many times. To learn, the file is added up
by parts of the hash: what is in memory then are the words of one part, and what the backend makes of all.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.core.counted_words import PART_SEED, PARTS, WordArrays, WordTotals
from tokbench.core.training import identity_of
from tokbench.counting.joining import summing_counter
from tokbench.counting.spill import Spill
from tokbench.errors import ConfigError
from tokbench.files.storage.open import place_of
from tokbench.words.parquet import open_words_file, open_writer, require_pyarrow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tokbench.core.counted_words import WordCounting
    from tokbench.core.documents import TextIdentity
    from tokbench.core.progress import Progress

PROCESS_BYTES = 270_000_000
"""That a process takes besides words: Python, libraries, and blocks of text on their way."""

LEAST_MEMORY = 400_000_000
"""Below this, files would be written again and again."""

_OF_TABLES = 2
"""A table that grows has twice the size at once."""


@dataclass(frozen=True, slots=True)
class SpilledWords:
    """Words in a temporary file; see `tokbench.core.counted_words.CountedWords`.

    Attributes:
        path: the file, in which words are in groups by parts of their hashes.
        parts: the part of each group.
        totals: what was counted.
        memory: bytes that learning from them may take.
        min_count: rarer words are left out.
        identify_text: tells which text they are from.
        seconds: that counting took.
    """

    path: Path
    parts: Sequence[int]
    totals: WordTotals
    memory: int
    min_count: int
    identify_text: Callable[[], TextIdentity] | None
    seconds: float

    @property
    def record(self) -> Mapping[str, Any] | None:
        """What is left out of the words of the text; None where nothing is."""
        return {"min_count": self.min_count} if self.min_count > 1 else None

    def arrays(self) -> Iterator[WordArrays]:
        """All of them that are frequent enough, part by part."""
        with open_words_file(place_of(self.path)) as file:
            for part in range(PARTS):
                counter = summing_counter()
                for words in file.arrays([group for group, of in enumerate(self.parts) if of == part]):
                    counter.add_arrays(*words)
                kept = WordArrays(*counter.arrays()).at_least(self.min_count)
                if len(kept.counts):
                    yield kept


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
    """Count documents within a bound on memory; the words are there until the block ends.

    Args:
        documents: read once.
        counting: how.
        memory: bytes that the process may take, for counting and for what is learned from the words.
        min_count: rarer words are left out, after everything is counted.
        threads: that may be used.
        progress: called with how much of the work is done.

    Raises:
        ConfigError: so little memory that nothing can be counted.
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
            spill = Spill(counting, counter, writer, memory=left // _OF_TABLES, progress=progress)
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
            min_count=min_count,
            identify_text=identity_of(documents),
            seconds=time.perf_counter() - started,
        )
