"""Training with SentencePiece, in a process of its own.

The library writes its log to standard error, cannot be interrupted, and ends the process on what
its authors held impossible. In a process of its own all three are harmless: the log becomes
progress, Ctrl-C works at once, and an end is an error message.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from tokbench.core.interfaces import TrainingRecord
from tokbench.core.progress import reading_of
from tokbench.core.python_processes import module_environment
from tokbench.core.training import fitted_size, refuse_one_text
from tokbench.errors import BackendUnavailableError, TrainingError
from tokbench.libraries.sentencepiece.config import NUM_BYTES, UnigramConfig
from tokbench.libraries.sentencepiece.tokenizer import library
from tokbench.libraries.sentencepiece.trained import trained_tokenizer
from tokbench.libraries.sentencepiece.training_log import Lines, drawn
from tokbench.libraries.sentencepiece.training_progress import AddedPieces, PruningRounds
from tokbench.libraries.sentencepiece.worker import FAILED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.core.progress import Progress
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
        documents: read once and streamed.
        config: what to train, and how.
        backend: the name under which the tokenizer is loaded again.
        progress: called with how much of the work is done.

    Raises:
        CorpusError: a document that cannot be read.
        TrainingError: no text, or a vocabulary that its characters alone do not fit into.
        BackendUnavailableError: the library is not installed.
    """
    refuse_one_text(documents)
    _require_library()
    started = time.perf_counter()
    lines = Lines(documents, config.special_tokens, longest=config.max_sentence_length)
    reported = _reported(lines, documents, progress=progress)
    if config.vocab_size is not None and not config.input_sentence_size:
        vocab_size = config.vocab_size
        proto, read = _trained(reported, config, vocab_size=vocab_size, progress=progress)
    else:
        with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:
            fitted = _spool(reported, config, spool=spool)
            vocab_size = config.vocab_size or fitted
            chosen = _chosen(spool, config, total=lines.lines)
            proto, read = _trained(chosen, config, vocab_size=vocab_size, progress=progress)
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


# --- the text ---------------------------------------------------------------------------------


def _reported(lines: Lines, documents: Iterable[str], *, progress: Progress) -> Iterator[bytes]:
    """The lines of documents; every megabyte of them is reported."""
    reported, read = 0, reading_of(documents)
    for line in lines:
        if lines.num_bytes - reported >= _BLOCK_BYTES:
            reported = lines.num_bytes
            progress("reading", *read(reported), "bytes")
        yield line
    done, total = read(lines.num_bytes)
    progress("reading", total or done, total or done, "bytes")


def _spool(lines: Iterable[bytes], config: SentencePieceConfig, *, spool: IO[bytes]) -> int:
    """Write the lines to a spool; the size that fits their distinct words and characters."""
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


def _chosen(spool: IO[bytes], config: SentencePieceConfig, *, total: int) -> Iterator[bytes]:
    """The lines of a spool, or as many of them as the configuration wants."""
    spool.seek(0)
    lines = (line[:-1] for line in spool)
    if not 0 < config.input_sentence_size < total:
        return lines
    return drawn(lines, size=config.input_sentence_size, total=total, seed=config.seed)


# --- the process ------------------------------------------------------------------------------


def _trained(
    lines: Iterable[bytes], config: SentencePieceConfig, *, vocab_size: int, progress: Progress
) -> tuple[bytes, float]:
    """The serialized model, and when all of the text had been read."""
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
            raise TrainingError(
                "there is no text to train on", hint="name files with text, or leave out --special-token"
            )
        answer, code = worker.answer(progress)
    if code == 0:
        return answer, read
    message = answer.decode(errors="replace") if code == FAILED else worker.last_words(code)
    raise _training_error(message, config)


class _Worker:
    """The process that trains; it ends with the block in which it is used, whatever happens there."""

    def __init__(self, steps: AddedPieces | PruningRounds) -> None:
        # -P: the folder of a script of the user's could hold a sentencepiece.py.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tokbench.libraries.sentencepiece.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=module_environment(),
        )
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
        self._process.kill()
        self._process.wait()
        for reader in self._readers:
            reader.join()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with suppress(OSError):  # what could not be written any more
                    stream.close()

    def feed(self, job: bytes, lines: Iterable[bytes]) -> bool:
        """Send the job and the text; whether there was any."""
        stream = self._process.stdin
        assert stream is not None
        any_line = False
        pending = [job]
        size = 0
        with suppress(BrokenPipeError):  # it has ended: its answer says why
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
        """Wait for the end; standard output, and the exit code."""
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
        """Why a process may have ended that gave no answer."""
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


# --- what came of it --------------------------------------------------------------------------


def _training_error(message: str, config: SentencePieceConfig) -> TrainingError:
    """The library's message in the user's words."""
    if found := _TOO_SMALL.search(message):
        return too_small(int(found[1]), needed=int(found[2]), config=config)
    if found := _TOO_LARGE.search(message):
        return too_large(int(found[1]), largest=int(found[2]))
    return TrainingError(
        f"SentencePiece could not train: {_PLACE.sub('', message, count=1)}",
        hint="the text may be too short for its options; `tokbench backends` lists them",
    )


def too_small(size: int, *, needed: int, config: SentencePieceConfig) -> TrainingError:
    """The error of a vocabulary that the characters alone do not fit into."""
    bytes_ = f", {NUM_BYTES} of them bytes" if config.byte_fallback else ""
    return TrainingError(
        f"a vocabulary of {size:,} is too small for this text: its characters and what is there "
        f"anyway are {needed:,} tokens{bytes_}",
        hint=f"--vocab-size {needed} is the smallest that works; a lower character_coverage needs fewer",
    )


def too_large(size: int, *, largest: int) -> TrainingError:
    """The error of a vocabulary that the text cannot fill, where that is not an early end."""
    return TrainingError(
        f"this text cannot fill a vocabulary of {size:,}",
        hint=f"--vocab-size {largest} is the largest that works; without hard_vocab_limit it stops there",
    )
