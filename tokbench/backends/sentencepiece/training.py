"""Training on the kernel: documents → words → segments → pieces → a SentencePiece model.

The library provides its normalization table and runs the trained model, but does not train.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from tokbench.backends.sentencepiece.kernel import current_kernel
from tokbench.backends.sentencepiece.options import chosen_options
from tokbench.backends.sentencepiece.scripts import script_arrays
from tokbench.backends.sentencepiece.vocabulary import model_bytes, symbols_of
from tokbench.core.documents import ByteDocuments
from tokbench.core.interfaces import TrainingRecord
from tokbench.core.progress import known_bytes, reading_of
from tokbench.core.training import (
    batches,
    count_sources,
    count_texts,
    fitted_size,
    limits_reported,
    no_text,
    refuse_one_text,
    threads_of,
)
from tokbench.core.word_input import add_words, too_much, with_words
from tokbench.libraries.sentencepiece.training import too_large, too_small, trained_tokenizer
from tokbench.libraries.sentencepiece.training_lines import Lines, drawn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tokbench.backends.sentencepiece.kernel import Kernel, TrainingText, WordCounter
    from tokbench.backends.sentencepiece.options import Options
    from tokbench.core.counted_words import CountedWords
    from tokbench.core.progress import Progress
    from tokbench.libraries.sentencepiece.config import SentencePieceConfig
    from tokbench.libraries.sentencepiece.tokenizer import SentencePieceTokenizer


MOST_CODES = 1 << 31
"""The largest number of codes of all segments: one for each character, and one more for each segment."""
_SPOOL_BYTES = 64 << 20
_BLOCK_LINES = 1 << 14


class Learner(Protocol):
    """A function that learns pieces: `learn_bpe`, or that of `backends/unigram/training.py`."""

    def __call__(
        self,
        text: TrainingText,
        options: Options,
        *,
        vocab_size: int,
        config: Any,
        threads: int,
        progress: Progress,
    ) -> list[tuple[str, float]]:
        """Return the pieces and their scores in the order of their ids, without symbols."""


def train(
    documents: Iterable[str],
    config: SentencePieceConfig,
    *,
    learn: Learner,
    backend: str,
    progress: Progress,
) -> SentencePieceTokenizer:
    """Learn a tokenizer from documents.

    Args:
        documents: the documents, which are read once and streamed.
        config: the training options.
        learn: the algorithm.
        backend: the name of the backend that loads the saved tokenizer.
        progress: called with the amount of work done.

    Raises:
        CorpusError: a document cannot be read.
        TrainingError: there is no text, an option is supported only by the library's trainer, or the vocabulary is
            too small for the characters of the text.
        BackendUnavailableError: the library is not installed.
    """
    refuse_one_text(documents)
    counting = LineWordCounting(config, backend)
    started = time.perf_counter()
    counter = counting.new_counter(threads=threads_of(config))
    read_totals = _count(counter, documents, counting=counting, progress=progress)
    return _learn_pieces(
        counter,
        config,
        learn=learn,
        read_totals=read_totals,
        backend=backend,
        documents=documents,
        reading_seconds=time.perf_counter() - started,
        progress=progress,
    )


def train_on_words(
    words: CountedWords, config: SentencePieceConfig, *, learn: Learner, backend: str, progress: Progress
) -> SentencePieceTokenizer:
    """Learn a tokenizer from counted words; the result equals that of `train` on their text.

    Raises:
        TrainingError: as `train`.
        BackendUnavailableError: the library is not installed.
    """
    started = time.perf_counter()
    counter = LineWordCounting(config, backend).new_counter(threads=1)
    add_words(counter, words, progress=progress)
    counter.finish()
    tokenizer = _learn_pieces(
        counter,
        config,
        learn=learn,
        read_totals=_ReadTotals(words.totals.documents or 0, words.totals.num_bytes),
        backend=backend,
        documents=None,
        reading_seconds=time.perf_counter() - started,
        progress=progress,
    )
    with_words(tokenizer, words)
    return tokenizer


def _learn_pieces(
    counter: WordCounter,
    config: SentencePieceConfig,
    *,
    learn: Learner,
    read_totals: _ReadTotals,
    backend: str,
    documents: Iterable[str] | None,
    reading_seconds: float,
    progress: Progress,
) -> SentencePieceTokenizer:
    """Learn pieces from the words of a counter, and build a tokenizer from them."""
    options, kernel, threads = chosen_options(config), current_kernel(), threads_of(config)
    started = time.perf_counter()
    distinct = counter.distinct  # read first, as the training text takes the words of the counter
    text = _training_text(kernel, counter, config, options)
    if len(text.too_many):
        hint = "`tokbench count-words` with " if documents is not None else ""
        codes = np.array(text.too_many, np.float64)
        times = f"{codes.sum() / MOST_CODES:.1f} times the characters that can be learned from"
        raise too_much(codes, most=MOST_CODES, message=f"the distinct words have {times}", hint=hint)
    if text.is_blank:
        raise no_text(config.special_tokens, only="white space" if read_totals.num_bytes else "")
    needed = config.reserved + text.alphabet
    vocab_size = config.vocab_size or fitted_size(distinct, reserved=needed + 1)
    if vocab_size < needed:
        raise too_small(vocab_size, needed=needed, config=config)
    with limits_reported():
        pieces = learn(
            text, options, vocab_size=vocab_size, config=config, threads=threads, progress=progress
        )
    if options.hard_vocab_limit and config.reserved + len(pieces) < vocab_size:
        raise too_large(vocab_size, largest=config.reserved + len(pieces))
    return trained_tokenizer(
        model_bytes(pieces, config, options),
        config=config,
        backend=backend,
        documents=documents,
        wanted=vocab_size,
        record=TrainingRecord(
            documents=read_totals.documents,
            num_bytes=read_totals.num_bytes,
            pretokens=counter.words,
            distinct_pretokens=distinct,
            tokens=None,
            learned_ids=range(0),
            seconds={"reading": reading_seconds, "training": time.perf_counter() - started},
            threads=threads,
            kernel=kernel.name,
            notes=read_totals.notes,
        ),
    )


# --- the text ---------------------------------------------------------------------------------


class _ReadTotals(NamedTuple):
    """The totals of the text that was read, and notes for the user."""

    documents: int
    num_bytes: int
    notes: tuple[str, ...] = ()


def _count(
    counter: WordCounter, documents: Iterable[str], *, counting: LineWordCounting, progress: Progress
) -> _ReadTotals:
    """Count the words of documents, or of the lines that the configuration selects."""
    config = counting.config
    if config.max_sentence_length is not None or _may_draw(documents, config):
        return _count_lines(counter, documents, config=config, progress=progress)
    counting.count(counter, documents, progress=progress)
    return _ReadTotals(counter.documents, counter.num_bytes)


def _may_draw(documents: object, config: SentencePieceConfig) -> bool:
    """Return whether there may be more lines than requested: a line has at least one byte and a line feed."""
    size = known_bytes(documents)
    return config.input_sentence_size > 0 and (size is None or size > 2 * config.input_sentence_size)


def _count_lines(
    counter: Any, documents: Iterable[str], *, config: SentencePieceConfig, progress: Progress
) -> _ReadTotals:
    """Count the words of the lines that the configuration selects."""
    lines = Lines(documents, config.special_tokens, longest=config.max_sentence_length)
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:
        for line in lines:
            spool.write(line + b"\n")
        spool.seek(0)
        total, wanted = lines.lines, config.input_sentence_size
        chosen: Iterator[bytes] = (line[:-1] for line in spool)
        if 0 < wanted < total:
            chosen = drawn(chosen, size=wanted, total=total, seed=config.seed)
        for block in _blocks(chosen):
            counter.add_texts([block])
    with limits_reported():
        counter.finish()
    tell_all_read(lines.num_bytes, documents, progress=progress)
    return _ReadTotals(lines.documents, lines.num_bytes, lines.notes_with_draw(wanted))


def _blocks(lines: Iterable[bytes]) -> Iterator[str]:
    block: list[bytes] = []
    for line in lines:
        block.append(line)
        if len(block) >= _BLOCK_LINES:
            yield b"\n".join(block).decode()
            block = []
    yield b"\n".join(block).decode()


def _training_text(
    kernel: Kernel, counter: Any, config: SentencePieceConfig, options: Options
) -> TrainingText:
    starts, scripts = script_arrays()
    symbols = [symbol for symbol in symbols_of(config) if " " not in symbol]  # normalized text has no spaces
    with limits_reported():
        return kernel.training_text(
            counter,
            starts=starts,
            scripts=scripts,
            longest=config.max_token_length,
            split_by_script=options.split_by_unicode_script,
            split_by_number=options.split_by_number,
            split_by_whitespace=options.split_by_whitespace,
            split_digits=config.split_digits,
            whitespace_only=config.allow_whitespace_only_pieces,
            charsmap=options.charsmap,
            collapse=config.remove_extra_whitespaces,
            symbols=symbols,
            coverage=config.character_coverage,
            required=[ord(character) for character in options.required_chars],
            most_codes=MOST_CODES,
        )


@dataclass(frozen=True, slots=True)
class LineWordCounting:
    """The counting of the words of lines under a configuration; see `tokbench.core.counted_words.WordCounting`."""

    config: SentencePieceConfig
    backend: str = "unigram"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything besides the text that the counts depend on."""
        return {
            "backend": self.backend,
            "add_dummy_prefix": self.config.add_dummy_prefix,
            "remove_extra_whitespaces": self.config.remove_extra_whitespaces,
            "split_by_whitespace": chosen_options(self.config).split_by_whitespace,
            "special_tokens": sorted(self.config.special_tokens),
        }

    @property
    def cuts_at_lines(self) -> bool:
        """Whether lines can be counted apart: no word spans two lines, and no special token does."""
        return not any("\n" in text[:-1] for text in self.config.special_tokens)

    def new_counter(self, *, threads: int, seed: int | None = None) -> WordCounter:
        """Create a counter of the kernel; without a seed, the kernel uses its default."""
        counter: WordCounter = current_kernel().new_counter(
            dummy_prefix=self.config.add_dummy_prefix,
            collapse=self.config.remove_extra_whitespaces,
            whole_lines=not chosen_options(self.config).split_by_whitespace,
            special_tokens=list(self.config.special_tokens),
            threads=threads,
            **({} if seed is None else {"seed": seed}),
        )
        return counter

    def count(self, counter: WordCounter, documents: Iterable[str], *, progress: Progress) -> None:
        """Pass documents to a counter and finish it. Raises `CorpusError`, `TrainingError`."""
        if current_kernel().reads_bytes and isinstance(documents, ByteDocuments):
            count_sources(counter, documents, progress=progress, phase="reading")
            return
        for batch in batches(documents, progress=progress, phase="reading"):
            count_texts(counter, batch)
        with limits_reported():
            counter.finish()
        tell_all_read(counter.num_bytes, documents, progress=progress)

    def drain(self, counter: WordCounter) -> None:
        """Wait until everything that the counter received is in its counts."""
        with limits_reported():
            counter.drain()


def tell_all_read(num_bytes: int, documents: object, *, progress: Progress) -> None:
    """Report that all documents are read."""
    done, total = reading_of(documents)(num_bytes)
    progress("reading", total or done, total or done, "bytes")


def learn_bpe(
    text: TrainingText,
    options: Options,
    *,
    vocab_size: int,
    config: SentencePieceConfig,
    threads: int,
    progress: Progress,
) -> list[tuple[str, float]]:
    """Learn merges, followed by the characters by frequency; see `tokbench.backends.sentencepiece.training.Learner`."""
    del options
    wanted = vocab_size - config.reserved - text.alphabet
    progress("training", 0, wanted, "pieces")
    merged = current_kernel().train_bpe(
        text,
        num_pieces=wanted,
        threads=threads,
        progress=lambda done: progress("training", done, wanted, "pieces"),
    )
    characters = sorted(text.characters, key=lambda item: (-item[1], item[0]))
    pieces = [*merged, *(character for character, _ in characters)]
    symbols = {*symbols_of(config)}
    return [(piece, -float(rank)) for rank, piece in enumerate(pieces) if piece not in symbols]
