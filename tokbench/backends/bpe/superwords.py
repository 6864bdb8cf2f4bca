"""Tokens of several words (SuperBPE, Liu et al. 2025): merges learned across spaces, after those within words.

The first merges are learned from pre-tokens. They then cut the text that is split by the pattern "superwords"
alone, and learning goes on there: `reference.train_superwords` is the definition.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tokbench.backends.bpe.counting import PretokenCounting, threads_of
from tokbench.backends.bpe.kernel import current_kernel
from tokbench.backends.bpe.reference import (
    EXCLUDED_IN_SUPERWORDS,
    MOST_WORDS,
    NUM_BYTES,
    SUPERWORDS_PATTERN,
)
from tokbench.backends.bpe.training import merged
from tokbench.core.counted_words import WordArrays
from tokbench.core.documents import ByteDocuments
from tokbench.core.training import batches, count_sources, identity_of, limits_reported, refuse_one_text
from tokbench.core.word_input import check_counted, check_room, merger_room

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from tokbench.backends.bpe.config import BpeConfig
    from tokbench.backends.bpe.kernel import Encoder, PretokenCounter
    from tokbench.backends.bpe.tokenizer import BpeTokenizer
    from tokbench.core.progress import Progress
    from tokbench.core.training import CountProgress


_ENCODED_BYTES = 1 << 22


def train_with_superwords(documents: Iterable[str], config: BpeConfig, *, progress: Progress) -> BpeTokenizer:
    """Learn a tokenizer from documents, of which merges cross spaces from `config.superwords` tokens on.

    Raises:
        CorpusError: a document that cannot be read.
        TrainingError: no text at all, or words that are too long or too many for the kernel.
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
    """Read documents once, and count their pre-tokens by the pattern of words and by that of superwords."""
    refuse_one_text(documents)
    of_words, of_superwords = (
        PretokenCounting(each) for each in (config, replace(config, pattern=SUPERWORDS_PATTERN))
    )
    words, superwords = (
        counting.new_counter(threads=threads_of(config), seed=config.seed)
        for counting in (of_words, of_superwords)
    )
    if of_words.reads_bytes and isinstance(documents, ByteDocuments):
        count_sources(_Both(words, superwords), documents, progress=progress)
    else:
        for batch in batches(documents, progress=progress):
            of_words.add(words, batch)
            of_superwords.add(superwords, batch)
        with limits_reported():
            words.finish()
            superwords.finish()
    check_counted(words, hint=None)
    return words, superwords


class _Both:
    """Two counters that count the same sources; see `tokbench.core.training.SourceCounter`."""

    def __init__(self, first: PretokenCounter, second: PretokenCounter) -> None:
        self._first, self._second = first, second

    def add_file(self, fd: int, documents: str, progress: CountProgress | None) -> int:
        """A plain file, read by each."""
        size = self._first.add_file(fd, documents, progress)
        os.lseek(fd, 0, os.SEEK_SET)
        self._second.add_file(fd, documents, None)
        return size

    def begin_source(self, documents: str) -> None:
        """A source begins."""
        self._first.begin_source(documents)
        self._second.begin_source(documents)

    def feed(self, block: bytes) -> None:
        """The next bytes of the source."""
        self._first.feed(block)
        self._second.feed(block)

    def end_source(self) -> None:
        """The source is complete."""
        self._first.end_source()
        self._second.end_source()

    def finish(self) -> None:
        """End the counting; nothing is added afterwards."""
        self._first.finish()
        self._second.finish()

    @property
    def invalid(self) -> tuple[int, int] | None:
        """The first place that is not UTF-8."""
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
    """What `Kernel.train` gives: the merges within words, and after them those across spaces."""
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
    del data, offsets, encoder  # which remembers words
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
    """The ids of stretches of text one after the other, and where each ends; not all are strings at a time."""
    parts, lengths = [], [np.zeros(1, np.int64)]
    stops = np.searchsorted(offsets, np.arange(0, offsets[-1], _ENCODED_BYTES)[1:]).tolist()
    for first, stop in pairwise(sorted({0, *stops, len(offsets) - 1})):
        block = data[offsets[first] : offsets[stop]].tobytes()
        places = (offsets[first : stop + 1] - offsets[first]).tolist()
        ids, ends = encoder.encode_batch(
            [block[here:there].decode() for here, there in pairwise(places)], threads
        )
        parts.append(ids)
        lengths.append(np.diff(ends))
    return np.concatenate(parts), np.cumsum(np.concatenate(lengths))
