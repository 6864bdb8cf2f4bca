"""Training with the SentencePiece library, in a separate process.

The library logs to standard error, cannot be interrupted, and ends the process on a failed
assertion. In a separate process all three are harmless: the log becomes progress, Ctrl-C works
immediately, and the end of the process becomes an error message.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import replace
from typing import IO, TYPE_CHECKING

from tokbench.core.interfaces import TrainingRecord
from tokbench.core.module_process import end_process, start_module
from tokbench.core.progress import reading_of
from tokbench.core.training import early_end, fitted_size, identity_of, no_text, refuse_one_text
from tokbench.errors import BackendUnavailableError, TrainingError
from tokbench.formats.sentencepiece.model import ModelType, parse_model
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.formats.sentencepiece.unigram_scores import with_rounded_scores
from tokbench.libraries.sentencepiece.config import NUM_BYTES, UnigramConfig
from tokbench.libraries.sentencepiece.models import open_model
from tokbench.libraries.sentencepiece.tokenizer import library
from tokbench.libraries.sentencepiece.training_lines import Lines, drawn
from tokbench.libraries.sentencepiece.training_progress import AddedPieces, PruningRounds
from tokbench.libraries.sentencepiece.worker import FAILED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.core.progress import Progress
    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.libraries.sentencepiece.config import SentencePieceConfig
    from tokbench.libraries.sentencepiece.tokenizer import SentencePieceTokenizer

_BLOCK_BYTES = 1 << 20
_SPOOL_BYTES = 64 << 20
_LAST_LINES = 40
_POLL_SECONDS = 0.1

_TOO_SMALL = re.compile(r"smaller than required_chars\. (\d+) vs (\d+)")
_TOO_LARGE = re.compile(r"size too high \((\d+)\)\. Please set it to a value <= (\d+)")
_PLACE = re.compile(r"^(?:[A-Z_]+: )?(?:\S+\(\d+\) )?(?:\[.*?\] )?(?=\S)")


def train(
    documents: Iterable[str], config: SentencePieceConfig, *, backend: str, progress: Progress
) -> SentencePieceTokenizer:
    """Learn a tokenizer from documents.

    Args:
        documents: the documents, which are read once and streamed.
        config: the training options.
        backend: the name of the backend that loads the saved tokenizer.
        progress: called with the amount of work done.

    Raises:
        CorpusError: a document cannot be read.
        TrainingError: there is no text, or the vocabulary is too small for its characters.
        BackendUnavailableError: the library is not installed.
    """
    refuse_one_text(documents)
    _require_library()
    started = time.perf_counter()
    lines = Lines(documents, config.special_tokens, longest=config.max_sentence_length)
    reported = _reported(lines, documents, progress=progress)
    if config.vocab_size is not None and not config.input_sentence_size:
        vocab_size = config.vocab_size
        proto, read = _train_in_worker(reported, config, vocab_size=vocab_size, progress=progress)
    else:
        with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:
            fitted = _spool(reported, config, spool=spool)
            vocab_size = config.vocab_size or fitted
            chosen = _selected_lines(spool, config, total=lines.lines)
            proto, read = _train_in_worker(chosen, config, vocab_size=vocab_size, progress=progress)
    return trained_tokenizer(
        proto,
        config=config,
        backend=backend,
        documents=documents,
        wanted=vocab_size,
        record=TrainingRecord(
            documents=lines.documents,
            num_bytes=lines.num_bytes,
            pretokens=None,
            distinct_pretokens=None,
            tokens=None,
            learned_ids=range(0),
            seconds={"reading": read - started, "training": time.perf_counter() - read},
            threads=config.threads or os.cpu_count() or 1,
            kernel=library(),
            notes=lines.notes_with_draw(config.input_sentence_size),
        ),
    )


def trained_tokenizer(
    proto: bytes,
    *,
    config: SentencePieceConfig,
    backend: str,
    documents: Iterable[str] | None,
    wanted: int,
    record: TrainingRecord,
) -> SentencePieceTokenizer:
    """Return the tokenizer of a model that was just trained.

    Args:
        proto: the serialized model.
        config: the training options.
        backend: the name of the backend that loads the saved tokenizer.
        documents: the training documents; None if they are not known.
        wanted: the requested vocabulary size.
        record: the record of the trainer; the learned tokens and an early end are added to it.

    Raises:
        BackendUnavailableError: the library is not installed.
    """
    if isinstance(config, UnigramConfig) and config.round_scores:
        proto = with_rounded_scores(proto)
    model = parse_model(proto, path="the trained model")
    learned, unit = _learned_pieces(model)
    return open_model(
        proto,
        name=f"{backend}-{len(model.pieces)}",
        backend=backend,
        path="the trained model",
        model=model,
        config=config.as_saved(),
        identify_text=identity_of(documents),
        training=replace(
            record,
            learned_ids=learned,
            learned_unit=unit,
            requested_vocab_size=config.vocab_size,
            stopped_early=early_end(
                f"the text gives no more {unit}", learned=len(model.pieces), wanted=wanted
            ),
        ),
    )


def _learned_pieces(model: SentencePieceFile) -> tuple[range, str]:
    """Return the ids of the learned tokens and their unit: BPE's merges, or Unigram's pieces including characters."""
    normal = [id for id, piece in enumerate(model.pieces) if piece.type is PieceType.NORMAL]
    if not normal:
        return range(0), "pieces"
    first, end = normal[0], len(model.pieces)
    if model.model_type is not ModelType.BPE:
        return range(first, end), "pieces"
    while end > first and len(model.pieces[end - 1].text) == 1:
        end -= 1
    return range(first, end), "merges"


# --- the text ---------------------------------------------------------------------------------


def _reported(lines: Lines, documents: Iterable[str], *, progress: Progress) -> Iterator[bytes]:
    """Yield the lines of documents, and report progress for every mebibyte."""
    reported, read = 0, reading_of(documents)
    for line in lines:
        if lines.num_bytes - reported >= _BLOCK_BYTES:
            reported = lines.num_bytes
            progress("reading", *read(reported), "bytes")
        yield line
    done, total = read(lines.num_bytes)
    progress("reading", total or done, total or done, "bytes")


def _spool(lines: Iterable[bytes], config: SentencePieceConfig, *, spool: IO[bytes]) -> int:
    """Write the lines to a spool; return the vocabulary size that fits their distinct words and characters."""
    words: set[bytes] = set()
    characters: set[str] = set()
    for line in lines:
        spool.write(line + b"\n")
        if config.vocab_size is None:
            fresh = set(line.split()) - words
            words |= fresh
            for word in fresh:
                characters.update(word.decode())
    return fitted_size(len(words), reserved=config.reserved + len(characters) + 1)


def _selected_lines(spool: IO[bytes], config: SentencePieceConfig, *, total: int) -> Iterator[bytes]:
    """Return the lines of a spool, or a random sample of the size that the configuration requests."""
    spool.seek(0)
    lines = (line[:-1] for line in spool)
    if not 0 < config.input_sentence_size < total:
        return lines
    return drawn(lines, size=config.input_sentence_size, total=total, seed=config.seed)


# --- the process ------------------------------------------------------------------------------


def _train_in_worker(
    lines: Iterable[bytes], config: SentencePieceConfig, *, vocab_size: int, progress: Progress
) -> tuple[bytes, float]:
    """Train in a worker process; return the serialized model, and the time when all text had been read."""
    arguments = config.library_arguments(vocab_size=vocab_size)
    job = {"arguments": arguments, "threads": config.threads}
    steps = (
        PruningRounds(vocab_size, arguments)
        if isinstance(config, UnigramConfig)
        else AddedPieces(max(vocab_size - config.reserved, 1))
    )
    with _Worker(steps) as worker:
        any_line = worker.feed(json.dumps(job).encode(), lines)
        read = time.perf_counter()
        if not any_line:
            raise no_text(config.special_tokens)
        answer, code = worker.answer(progress)
    if code == 0:
        return answer, read
    message = answer.decode(errors="replace") if code == FAILED else worker.last_words(code)
    raise _training_error(message, config)


class _Worker:
    """The process that trains, as a context manager that always ends it."""

    def __init__(self, steps: AddedPieces | PruningRounds) -> None:
        # -P: the folder of the user's script might contain a sentencepiece.py.
        self._process = start_module("tokbench.libraries.sentencepiece.worker", stderr=subprocess.PIPE)
        self._answer = b""
        self._log: list[bytes] = []
        self._steps = steps
        self._readers = [
            threading.Thread(target=self._read_answer, daemon=True),
            threading.Thread(target=self._read_log, daemon=True),
        ]

    def __enter__(self) -> _Worker:
        for reader in self._readers:
            reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        end_process(self._process, self._readers)

    def feed(self, job: bytes, lines: Iterable[bytes]) -> bool:
        """Send the job and the text; return whether there was any text."""
        stream = self._process.stdin
        assert stream is not None
        any_line = False
        pending = [job]
        size = 0
        with suppress(BrokenPipeError):  # the process has ended, and its answer tells why
            for line in lines:
                any_line = any_line or not line.isspace()
                pending.append(line)
                size += len(line)
                if size >= _BLOCK_BYTES:
                    stream.write(b"\n".join(pending) + b"\n")
                    pending, size = [], 0
            if any_line:
                stream.write(b"".join(line + b"\n" for line in pending))
                stream.close()
        return any_line

    def answer(self, progress: Progress) -> tuple[bytes, int]:
        """Wait for the end of the process; return its standard output and its exit code."""
        while True:
            progress("training", *self._steps.place, self._steps.unit)
            try:
                code = self._process.wait(timeout=_POLL_SECONDS)
                break
            except subprocess.TimeoutExpired:
                continue
        for reader in self._readers:
            reader.join()
        progress("training", *self._steps.place, self._steps.unit)
        return self._answer, code

    def last_words(self, code: int) -> str:
        """Return the message for a process that ended without an answer, with the last line of its log."""
        spoken = [line for line in self._log if line.strip()]
        last = spoken[-1].decode(errors="replace").strip() if spoken else "it said nothing"
        return f"the library ended its process ({code}): {last}"

    def _read_answer(self) -> None:
        assert self._process.stdout is not None
        self._answer = self._process.stdout.read()

    def _read_log(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._log = [*self._log[1 - _LAST_LINES :], line]
            self._steps.read(line)


def _require_library() -> None:
    from importlib.util import find_spec

    if find_spec("sentencepiece") is None:
        raise BackendUnavailableError(
            "the library sentencepiece is not installed", hint="pip install sentencepiece"
        )


# --- errors -----------------------------------------------------------------------------------


def _training_error(message: str, config: SentencePieceConfig) -> TrainingError:
    """Convert the library's error message into an error with a hint for the user."""
    if match := _TOO_SMALL.search(message):
        return too_small(int(match[1]), needed=int(match[2]), config=config)
    if match := _TOO_LARGE.search(message):
        return too_large(int(match[1]), largest=int(match[2]))
    return TrainingError(
        f"SentencePiece could not train: {_PLACE.sub('', message, count=1)}",
        hint="the text may be too short for its options; `tokbench backends` lists them",
    )


def too_small(size: int, *, needed: int, config: SentencePieceConfig) -> TrainingError:
    """Return the error for a vocabulary that is too small for the characters of the text."""
    bytes_ = f", {NUM_BYTES} of them bytes" if config.byte_fallback else ""
    return TrainingError(
        f"a vocabulary of {size:,} is too small for this text: its characters and special "
        f"tokens are {needed:,} tokens{bytes_}",
        hint=f"--vocab-size {needed} is the smallest that works; a lower character_coverage needs fewer",
    )


def too_large(size: int, *, largest: int) -> TrainingError:
    """Return the error for a vocabulary that the text cannot fill, if hard_vocab_limit makes that an error."""
    return TrainingError(
        f"this text cannot fill a vocabulary of {size:,}",
        hint=f"--vocab-size {largest} is the largest that works; without hard_vocab_limit it stops there",
    )
