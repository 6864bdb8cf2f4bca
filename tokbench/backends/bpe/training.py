"""Training of a byte-level BPE: documents or counted words → merges → a tokenizer.

Reading and counting overlap (`counting.py`): the kernel counts on its own worker threads, while this thread reads the
next block or takes the next documents. It blocks while two batches per worker are queued, so that memory does not grow
with the text, and in `counter.finish`. Merging begins when everything is counted. Each merge depends on the previous
one, so merges are not learned in parallel; but a second thread takes half of a merge that affects many pre-tokens
(`native/training/pair_merger.hpp`).

The lazy parts:

- Documents are iterated once, and only here: an iterable may be larger than memory.
- The heap of pairs: its counts may be too high and are corrected when a pair comes to the top
  (`native/training/frequency_trainer.hpp`).
- The encoder: its large tables are built once it has encoded some text (`native/encoding/encoder.hpp`).
- The identity of the text (`identify_text`): needed only when the tokenizer is saved or compared. It is then already
  known if the documents computed it while they were read (`corpus/identified.py`); otherwise they are read once more.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tokbench.backends.bpe.config import config_as_saved
from tokbench.backends.bpe.counting import PretokenCounting
from tokbench.backends.bpe.derivation import displaced_pairs
from tokbench.backends.bpe.kernel import current_kernel
from tokbench.backends.bpe.reference import NUM_BYTES, SUPERWORDS_PATTERN, Merge
from tokbench.backends.bpe.split_patterns import resolve_pattern
from tokbench.backends.bpe.tokenizer import BpeTokenizer
from tokbench.core.interfaces import TrainingRecord
from tokbench.core.training import early_end, fitted_size, identity_of, limits_reported, no_text, threads_of
from tokbench.core.word_input import (
    MOST_STEPS,
    STEP_UNITS,
    Room,
    add_words,
    check_counted,
    is_short,
    merger_room,
    with_words,
)
from tokbench.core.wording import counted
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from tokbench.backends.bpe.config import BpeConfig
    from tokbench.backends.bpe.derivation import DisplacedPairs
    from tokbench.backends.bpe.kernel import CountedPretokens
    from tokbench.core.counted_words import CountedWords
    from tokbench.core.documents import TextIdentity
    from tokbench.core.progress import Progress

_FEWER_WORDS = "--memory SIZE with "
"""The text before the --min-count that the hint of an error proposes."""
_MOST_SMALL_SYMBOLS = 1 << 16
_HEADER_SYMBOLS = 3
_LIST_HEADER_BYTES = 3
_POSTING_BYTES = 4
_NODE_BYTES = 20
_TOKEN_BYTES = 256
"""The bytes for one merge: its pairs in the tables."""


def train(documents: Iterable[str], config: BpeConfig, *, progress: Progress) -> BpeTokenizer:
    """Learn a tokenizer from documents.

    Raises:
        CorpusError: a document cannot be read.
        TrainingError: there is no text, or its words are too long or too many for the kernel.
    """
    counting = PretokenCounting(config)
    started = time.perf_counter()
    counter = counting.new_counter(threads=threads_of(config), seed=config.seed)
    counting.count(counter, documents, progress=progress)
    check_counted(counter, hint=_FEWER_WORDS)
    return merged(
        counter,
        config,
        identify_text=identity_of(documents),
        counting_seconds=time.perf_counter() - started,
        progress=progress,
    )


def train_on_words(words: CountedWords, config: BpeConfig, *, progress: Progress) -> BpeTokenizer:
    """Learn a tokenizer from counted pre-tokens; the result equals that of `train` on their text.

    Raises:
        ConfigError: the configuration asks for parity.
        TrainingError: there are no words, too many for the kernel, or more than their memory limit allows.
    """
    if config.parity is not None:
        raise ConfigError(
            "counted words do not record their languages, which parity needs",
            hint="train on text, without --counts and --memory",
        )
    started = time.perf_counter()
    counted = current_kernel().new_word_list()
    add_words(counted, words, progress=progress, rooms=merging_rooms(words, config))
    tokenizer = merged(
        counted,
        config,
        identify_text=words.identify_text,
        counting_seconds=words.seconds + time.perf_counter() - started,
        progress=progress,
    )
    with_words(tokenizer, words)
    return tokenizer


def merging_rooms(words: CountedWords, config: BpeConfig) -> tuple[Room, ...]:
    """Return the limits on merging: the number of symbols that the kernel can address, and the memory limit."""
    if words.memory is None:
        return (merger_room(),)
    return merger_room(), _memory_room(words.memory, vocab_size=config.vocab_size or _MOST_SMALL_SYMBOLS)


def merging_bytes(sizes: NDArray[np.int64], *, vocab_size: int, step_units: int = 1) -> NDArray[np.int64]:
    """Return the maximal number of bytes of memory that each word takes while it is merged.

    Args:
        sizes: the lengths of the words, in bytes.
        vocab_size: the requested vocabulary size: symbols have 16 bits if that is enough.
        step_units: 8 if there may be so many words that they are addressed in steps of 8 symbols, else 1.

    >>> import numpy as np
    >>> merging_bytes(np.array([1, 2, 10]), vocab_size=32_000).tolist()
    [4, 19, 135]
    >>> merging_bytes(np.array([1, 2, 10]), vocab_size=32_000, step_units=8).tolist()
    [4, 25, 141]
    """
    symbol_bytes = 2 if vocab_size <= _MOST_SMALL_SYMBOLS else 4
    listed = sizes + _LIST_HEADER_BYTES
    # The initial pairs, and two new pairs for each merge, except one for the second last and none for the last.
    postings = (sizes > 1) * _POSTING_BYTES * np.maximum(3 * sizes - 6, 1)
    symbols = is_short(sizes) * symbol_bytes * step_units * -(-(sizes + _HEADER_SYMBOLS) // step_units)
    nodes = (sizes > 1) * ~is_short(sizes) * _NODE_BYTES * sizes
    total: NDArray[np.int64] = listed + postings + symbols + nodes
    return total


def _memory_room(memory: int, *, vocab_size: int) -> Room:
    step_units = STEP_UNITS if memory > MOST_STEPS else 1  # less memory cannot hold that many words
    return Room(
        max(memory - vocab_size * _TOKEN_BYTES, 0),
        lambda sizes: merging_bytes(sizes, vocab_size=vocab_size, step_units=step_units),
        lambda needed: (
            f"merging the distinct words takes up to {needed / 1e6:,.0f} MB of memory, and "
            f"{memory / 1e6:,.0f} MB are left for it"
        ),
        more=", or give --memory more",
    )


def merged(
    counter: CountedPretokens,
    config: BpeConfig,
    *,
    identify_text: Callable[[], TextIdentity] | None,
    counting_seconds: float,
    progress: Progress,
    learn: Callable[..., tuple[NDArray[np.uint32], NDArray[np.int64], int]] | None = None,
) -> BpeTokenizer:
    """Learn merges from counted pre-tokens, and build a tokenizer from them.

    Args:
        counter: the counted pre-tokens.
        config: the training options.
        identify_text: returns the identity of the text that was counted.
        counting_seconds: how long counting took.
        progress: called with the number of merges learned.
        learn: a function with the signature of `Kernel.train`, which is the default.

    Raises:
        TrainingError: there are no pre-tokens, or they are too many or too long for the kernel.
    """
    kernel = current_kernel()
    learn = learn or partial(kernel.train, threads=threads_of(config))
    pattern = resolve_pattern(config.pattern if config.superwords is None else SUPERWORDS_PATTERN)
    started = time.perf_counter()
    with limits_reported():
        counter.finish()
    if not counter.distinct_pretokens:  # words that are too rare are counted among the pre-tokens
        raise no_text(config.special_tokens)

    reserved = NUM_BYTES + len(config.special_tokens)
    vocab_size = config.vocab_size or fitted_size(counter.distinct_pretokens)
    if config.vocab_size is None and vocab_size <= reserved:  # hundreds of special tokens
        vocab_size = fitted_size(counter.distinct_pretokens, reserved=reserved)
    num_merges = vocab_size - reserved
    progress("merging", 0, num_merges, "merges")
    with limits_reported():
        pairs, counts, num_tokens = learn(
            counter,
            num_merges=num_merges,
            min_frequency=config.min_frequency,
            max_token_length=config.max_token_length or 0,
            seed=config.seed,
            progress=lambda done: progress("merging", done, num_merges, "merges"),
        )
    merges = tuple(map(Merge._make, zip(*pairs.T.tolist(), counts.tolist(), strict=True)))
    progress("merging", len(merges), num_merges, "merges")
    merged = time.perf_counter()
    seconds = {"counting": counting_seconds, "merging": merged - started}
    displaced = _traced(counter, merges, progress=progress) if config.trace else None
    if displaced is not None:
        seconds["tracing"] = time.perf_counter() - merged
    first_special = NUM_BYTES + len(merges)
    tokenizer = BpeTokenizer(
        name=f"bpe-{first_special + len(config.special_tokens)}",
        pattern=pattern,
        encoder=kernel.encoder_from_merges(pairs, pattern.kernel_name),
        kernel=kernel,
        special_tokens={text: first_special + i for i, text in enumerate(config.special_tokens)},
        merges=merges,
        config=config_as_saved(config, pattern),
        identify_text=identify_text,
        training=TrainingRecord(
            documents=counter.documents,
            num_bytes=counter.num_bytes,
            pretokens=counter.pretokens,
            distinct_pretokens=counter.distinct_pretokens,
            tokens=num_tokens,
            learned_ids=range(NUM_BYTES, first_special),
            learned_unit="merges",
            seconds=seconds,
            threads=threads_of(config),
            kernel=kernel.name,
            requested_vocab_size=config.vocab_size,
            stopped_early=early_end(
                _no_more_pairs(config), learned=len(merges), wanted=num_merges, unit="merges"
            ),
        ),
    )
    if displaced is not None:
        tokenizer.read_trace = lambda: displaced
    return tokenizer


def _traced(
    counter: CountedPretokens, merges: tuple[Merge, ...], *, progress: Progress
) -> list[DisplacedPairs]:
    """Return the pairs that each merge displaced, by replaying the merges on the counted pre-tokens."""
    total = counter.distinct_pretokens
    found = displaced_pairs(
        counter.items(), merges, progress=lambda done: progress("tracing", done, total, "pre-tokens")
    )
    progress("tracing", total, total, "pre-tokens")
    return found


def _no_more_pairs(config: BpeConfig) -> str:
    longest = config.max_token_length
    length = f" and makes a token of at most {counted(longest, 'byte')}" if longest else ""
    words = " and may be a superword" if config.superwords is not None else ""
    return f"no pair is left that occurs {counted(config.min_frequency, 'time')} or more{length}{words}"


def smaller(tokenizer: BpeTokenizer, vocab_size: int) -> BpeTokenizer | None:
    """Return the tokenizer that training to a smaller size gives: the first merges, then the special tokens.

    Args:
        tokenizer: a trained tokenizer.
        vocab_size: the smaller size, special tokens included.

    Returns:
        The tokenizer; None if the merges are not known, or if the size is above the tokenizer's, below the base
        vocabulary or, with superwords, below the size at which superwords begin.
    """
    num_merges = vocab_size - NUM_BYTES - len(tokenizer.info.special_tokens)
    if tokenizer.merges is None or not 0 <= num_merges <= len(tokenizer.merges):
        return None
    if NUM_BYTES + num_merges < tokenizer.config.get("superwords", 0):
        return None  # training to that size learns no superwords and uses the pattern for words
    kernel, pattern = current_kernel(), tokenizer.pattern
    merges = tokenizer.merges[:num_merges]
    pairs = np.array([(merge.left, merge.right) for merge in merges], dtype=np.uint32).reshape(-1, 2)
    first_special = NUM_BYTES + num_merges
    return BpeTokenizer(
        name=f"bpe-{vocab_size}",
        pattern=pattern,
        encoder=kernel.encoder_from_merges(pairs, pattern.kernel_name),
        kernel=kernel,
        special_tokens={text: first_special + i for i, text in enumerate(tokenizer.info.special_tokens)},
        merges=merges,
        config=tokenizer.config,
    )
