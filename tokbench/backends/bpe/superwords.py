"""Tokens of several words (SuperBPE, Liu et al. 2025): merges learned across spaces, behind those within words.

The first merges are learned from pre-tokens. They then cut the text that is split by the pattern "superwords"
alone, and learning goes on there: `reference.train_superwords` is the definition.
"""

from __future__ import annotations

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
from tokbench.core.counting import batches, limits_told
from tokbench.core.training import identity_of, refuse_one_text
from tokbench.core.word_input import check_counted, check_room, merger_room

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from tokbench.backends.bpe.config import BpeConfig
    from tokbench.backends.bpe.kernel import PretokenCounter
    from tokbench.backends.bpe.tokenizer import BpeTokenizer
    from tokbench.core.progress import Progress


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
    for batch in batches(documents, progress=progress):
        of_words.add(words, batch)
        of_superwords.add(superwords, batch)
    with limits_told():
        words.finish()
        superwords.finish()
    check_counted(words, hint=None)
    return words, superwords


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
    """What `Kernel.train` gives: the merges within words, and behind them those across spaces."""
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
    block = data.tobytes()
    texts = [block[start:stop].decode() for start, stop in pairwise(offsets.tolist())]
    ids, ends = encoder.encode_batch(texts, threads_of(config))
    del block, texts
    check_room([WordArrays(data, ends, times)], room=merger_room(step=1), hint=None)
    behind, more_counts, num_tokens = kernel.continue_training(
        ids,
        ends,
        times,
        encoder.tokens(),
        num_merges=num_merges - len(first),
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        max_words=MOST_WORDS,
        excluded=EXCLUDED_IN_SUPERWORDS,
        seed=seed,
        progress=lambda done: progress(len(first) + done),
    )
    return np.concatenate([first, behind]), np.concatenate([counts, more_counts]), num_tokens
