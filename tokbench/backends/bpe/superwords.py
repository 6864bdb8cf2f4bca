"""Training of tokens of several words (SuperBPE, Liu et al. 2025): merges across spaces follow merges within words.

The first merges are learned from the usual pre-tokens. Then the text is split by the pattern "superwords" alone and
encoded with these merges, and further merges are learned from the result. `reference.train_superwords` is the
definition.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tokbench.backends.bpe.counting import PretokenCounting
from tokbench.backends.bpe.kernel import current_kernel
from tokbench.backends.bpe.reference import EXCLUDED_IN_SUPERWORDS, MOST_WORDS, NUM_BYTES, SUPERWORDS_PATTERN
from tokbench.backends.bpe.training import merged
from tokbench.core.counted_words import WordArrays
from tokbench.core.documents import ByteDocuments
from tokbench.core.training import (
    batches,
    count_sources,
    identity_of,
    limits_reported,
    refuse_one_text,
    threads_of,
)
from tokbench.core.word_input import check_counted, check_room, merger_room

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from tokbench.backends.bpe.config import BpeConfig
    from tokbench.backends.bpe.kernel import Encoder, PretokenCounter
    from tokbench.backends.bpe.tokenizer import BpeTokenizer
    from tokbench.core.progress import Progress
    from tokbench.core.training import CountProgress


_READ_BYTES = 1 << 20
_ENCODED_BYTES = 1 << 22


def train_with_superwords(documents: Iterable[str], config: BpeConfig, *, progress: Progress) -> BpeTokenizer:
    """Learn a tokenizer from documents; after `config.superwords` tokens, merges may cross spaces.

    Raises:
        CorpusError: a document cannot be read.
        TrainingError: there is no text, or its words are too long or too many for the kernel.
    """
    started = time.perf_counter()
    words, superwords = _count(documents, config, progress=progress)
    return merged(
        words,
        config,
        identify_text=identity_of(documents),
        counting_seconds=time.perf_counter() - started,
        progress=progress,
        learn=partial(_learn, superwords=superwords, config=config),
    )


def _count(
    documents: Iterable[str], config: BpeConfig, *, progress: Progress
) -> tuple[PretokenCounter, PretokenCounter]:
    """Read documents once, and count their pre-tokens under the pattern of words and under that of superwords."""
    refuse_one_text(documents)
    of_words, of_superwords = (
        PretokenCounting(options) for options in (config, replace(config, pattern=SUPERWORDS_PATTERN))
    )
    words, superwords = (
        counting.new_counter(threads=threads_of(config), seed=config.seed)
        for counting in (of_words, of_superwords)
    )
    if of_words.reads_bytes and isinstance(documents, ByteDocuments):
        count_sources(_TwoCounters(words, superwords), documents, progress=progress)
    else:
        for batch in batches(documents, progress=progress):
            of_words.add(words, batch)
            of_superwords.add(superwords, batch)
        with limits_reported():
            words.finish()
            superwords.finish()
    check_counted(words, hint=None)
    return words, superwords


class _TwoCounters:
    """A pair of counters that count the same sources; see `tokbench.core.training.SourceCounter`."""

    def __init__(self, first: PretokenCounter, second: PretokenCounter) -> None:
        self._first, self._second = first, second

    def add_file(self, fd: int, documents: str, progress: CountProgress | None) -> int:
        """Read a plain file once, block by block, for both counters; return its number of bytes."""
        self.begin_source(documents)
        size = 0
        while block := os.read(fd, _READ_BYTES):
            self.feed(block)
            size += len(block)
            if self.invalid is not None:
                return size
            if progress is not None:
                progress(size)
        self.end_source()
        return size

    def begin_source(self, documents: str) -> None:
        """Begin a source."""
        self._first.begin_source(documents)
        self._second.begin_source(documents)

    def feed(self, block: bytes) -> None:
        """Add the next bytes of the source."""
        self._first.feed(block)
        self._second.feed(block)

    def end_source(self) -> None:
        """End the source."""
        self._first.end_source()
        self._second.end_source()

    def finish(self) -> None:
        """End counting; nothing may be added afterwards."""
        self._first.finish()
        self._second.finish()

    @property
    def invalid(self) -> tuple[int, int] | None:
        """The first position that is not UTF-8."""
        return self._first.invalid


def _learn(
    words: PretokenCounter,
    *,
    superwords: PretokenCounter,
    config: BpeConfig,
    num_merges: int,
    min_frequency: int,
    max_token_length: int,
    seed: int,
    progress: Callable[[int], None],
) -> tuple[NDArray[np.uint32], NDArray[np.int64], int]:
    """Learn merges within words, then merges across spaces; the result is that of `Kernel.train`."""
    kernel = current_kernel()
    num_first = (config.superwords or 0) - NUM_BYTES
    first, counts, _ = kernel.train(
        words,
        num_merges=num_first,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        seed=seed,
        progress=progress,
        threads=threads_of(config),
    )
    encoder = kernel.encoder_from_merges(first, None)
    data, offsets, times = superwords.arrays()
    superwords.clear_counts()
    ids, ends = _encoded(data, offsets, encoder, threads=threads_of(config))
    check_room([WordArrays(data, ends, times)], room=merger_room(step=1), hint=None)
    tokens = encoder.tokens()
    del data, offsets, encoder  # frees their memory; the encoder caches words
    further, more_counts, num_tokens = kernel.continue_training(
        ids,
        ends,
        times,
        tokens,
        num_merges=num_merges - len(first),
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        max_words=MOST_WORDS,
        excluded=EXCLUDED_IN_SUPERWORDS,
        seed=seed,
        progress=lambda done: progress(len(first) + done),
    )
    return np.concatenate([first, further]), np.concatenate([counts, more_counts]), num_tokens


def _encoded(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], encoder: Encoder, *, threads: int
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Encode pre-tokens: return all ids and the offset where each one ends. Strings exist for one block at a time."""
    parts, lengths = [], [np.zeros(1, np.int64)]
    stops = np.searchsorted(offsets, np.arange(0, offsets[-1], _ENCODED_BYTES)[1:]).tolist()
    for first, stop in pairwise(sorted({0, *stops, len(offsets) - 1})):
        block = data[offsets[first] : offsets[stop]].tobytes()
        places = (offsets[first : stop + 1] - offsets[first]).tolist()
        ids, ends = encoder.encode_batch(
            [block[start:end].decode() for start, end in pairwise(places)], threads
        )
        parts.append(ids)
        lengths.append(np.diff(ends))
    return np.concatenate(parts), np.cumsum(np.concatenate(lengths))
