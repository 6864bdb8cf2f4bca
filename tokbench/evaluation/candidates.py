"""Training of candidates for a comparison: one per algorithm, on the same text and with the same vocabulary size.

Each is trained in a separate process if its peak memory is to be measured. A process that has trained before reuses
memory that it did not return to the system: judged by the peak of such a process, a second training of Unigram on 5 MB
takes 3 MB instead of 21, and one of WordPiece 16 instead of 225.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import dataclass, fields
from hashlib import blake2b
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from tokbench import errors
from tokbench.core.capabilities import AdvisesTrainingSize
from tokbench.core.module_process import end_process, start_module
from tokbench.core.progress import files_read, no_progress
from tokbench.core.time_and_memory import peak_bytes
from tokbench.errors import TokbenchError, TrainingError
from tokbench.evaluation.holdout import Side
from tokbench.opening.saved import load_saved
from tokbench.registry import get_backend

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import IO

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.evaluation.holdout import Holdout

BACKENDS = ("bpe", "sentencepiece", "wordpiece", "unigram")
BASELINES = ("byte", "char")

_SMALLEST, _LARGEST = 512, 32_768
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tokenizer to be evaluated, and what is known about its training.

    Attributes:
        tokenizer: the tokenizer.
        training_seconds: wall time of its training; None for an existing tokenizer.
        training_bytes: UTF-8 bytes of its training text; None if unknown.
        training_peak_bytes: peak resident memory of a process that only trained it, including the interpreter and
            the library; None if unknown.
        notes: remarks for the reader of its figures, one sentence each.
    """

    tokenizer: Tokenizer
    training_seconds: float | None = None
    training_bytes: int | None = None
    training_peak_bytes: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrainedCandidates:
    """The candidates that were trained.

    Attributes:
        candidates: one candidate for each algorithm that could be trained, followed by the baselines.
        vocab_size: the vocabulary size requested for all algorithms.
        left_out: backend → the reason why it could not be trained at that size.
    """

    candidates: tuple[Candidate, ...]
    vocab_size: int
    left_out: dict[str, str]


def train_candidates(
    holdout: Holdout,
    *,
    backends: Sequence[str] = BACKENDS,
    baselines: Sequence[str] = BASELINES,
    vocab_size: int | None = None,
    threads: int | None = None,
    seed: int = 0,
    memory: bool = False,
    progress: Progress = no_progress,
) -> TrainedCandidates:
    """Train one tokenizer for each algorithm, all with the same vocabulary size.

    Args:
        holdout: the divided corpus; its training text is used.
        backends: names of the algorithms.
        baselines: names of additional algorithms, trained at their default size.
        vocab_size: the size; by default one that suits the text and that every algorithm can reach.
        threads: number of threads, for algorithms that use threads.
        seed: seed of the algorithms and of the sample that slow algorithms learn from.
        memory: whether to measure the memory of each training, which then runs in a separate process.
        progress: called with the amount of work done; the phase begins with the algorithm's name.

    Raises:
        TrainingError: no algorithm could be trained.
        UnknownBackendError, ConfigError, CorpusError: see `tokbench.train`.
    """
    options: dict[str, Any] = {"threads": threads, "seed": seed, "memory": memory}
    size = _fitting_size(holdout.training_bytes) if vocab_size is None else vocab_size
    for attempt in range(1, _ATTEMPTS + 1):
        trained, left_out = _train_all(holdout, backends, vocab_size=size, progress=progress, **options)
        is_last = vocab_size is not None or attempt == _ATTEMPTS
        wanted = size if is_last else _better_size(size, trained, left_out)
        if wanted == size:
            break
        size = wanted
    if not trained:
        raise TrainingError(
            f"nothing could be trained: {'; '.join(left_out.values())}", hint="name more text"
        )
    others = [name for name in baselines if name not in backends]
    beside, _ = _train_all(holdout, others, vocab_size=None, progress=progress, **options)
    return TrainedCandidates(candidates=(*trained, *beside), vocab_size=size, left_out=left_out)


def _fitting_size(num_bytes: int) -> int:
    """Return a vocabulary size, a power of two, that suits a text of this size.

    The number of distinct pre-tokens grows as 3.5 · bytes^0.62 on web text; the size is one token for eight of them.

    >>> _fitting_size(600_000), _fitting_size(100_000_000)
    (1024, 32768)
    """
    wanted = 3.5 * num_bytes**0.62 / 8
    size = _SMALLEST
    while size * 2 <= wanted and size < _LARGEST:
        size *= 2
    return size


def _better_size(size: int, trained: Sequence[Candidate], left_out: dict[str, str]) -> int:
    """Return the next size to try: smaller if an algorithm ran out of pieces, larger if its alphabet does not fit."""
    smallest = min((candidate.tokenizer.info.vocab_size for candidate in trained), default=size)
    if smallest < size:
        return max(1 << (smallest.bit_length() - 1), _SMALLEST)
    return size * 2 if left_out else size


def _train_all(
    holdout: Holdout, backends: Sequence[str], *, vocab_size: int | None, progress: Progress, **options: Any
) -> tuple[list[Candidate], dict[str, str]]:
    trained: list[Candidate] = []
    left_out: dict[str, str] = {}
    for name in backends:
        try:
            trained.append(_train(holdout, name, vocab_size=vocab_size, progress=progress, **options))
        except TrainingError as error:
            left_out[name] = f"{name}: {error.message}"
    return trained, left_out


def _train(
    holdout: Holdout,
    name: str,
    *,
    vocab_size: int | None,
    threads: int | None,
    seed: int,
    memory: bool,
    progress: Progress,
) -> Candidate:
    backend = get_backend(name)
    known = {field.name for field in fields(backend.config_type)}
    options = {"vocab_size": vocab_size, "threads": threads, "seed": seed}
    chosen = {key: value for key, value in options.items() if key in known and value is not None}
    config = backend.config_type(**chosen)
    texts: Iterable[str] = holdout.training
    sample: dict[str, Any] | None = None
    num_bytes = holdout.training_bytes
    notes: tuple[str, ...] = ()
    most = backend.advised_bytes if isinstance(backend, AdvisesTrainingSize) else None
    if most is not None and most < num_bytes:
        sample = {"share": most / num_bytes, "seed": seed}
        texts = TrainingSample(texts, **sample)
        num_bytes = sum(len(text.encode()) for text in texts)
        notes = (f"learned from a sample of {num_bytes / 1e6:.0f} of {holdout.training_bytes / 1e6:.0f} MB",)

    def report(phase: str, done: int, total: int | None, unit: str) -> None:
        progress(f"{name}: {phase}", done, total, unit)

    trained = (
        train_in_process(name, holdout.training, chosen, sample=sample, progress=report) if memory else None
    )
    if trained is None:
        started = time.perf_counter()
        tokenizer = backend.train(texts, config, progress=report)
        trained = Trained(tokenizer, time.perf_counter() - started)
    return Candidate(
        tokenizer=trained.tokenizer,
        training_seconds=trained.seconds,
        training_bytes=num_bytes,
        training_peak_bytes=trained.peak_bytes,
        notes=notes,
    )


@dataclass(frozen=True, slots=True)
class TrainingSample:
    """A pseudo-random sample of texts, selected by a hash of their position: every iteration yields the same texts."""

    texts: Iterable[str]
    share: float
    seed: int

    @property
    def files_read(self) -> tuple[int, int] | None:
        """Progress of reading the files of all texts; None if unknown."""
        return files_read(self.texts)

    def __iter__(self) -> Iterator[str]:
        threshold = int(self.share * 2**64)
        for number, text in enumerate(self.texts):
            digest = blake2b(f"{self.seed}:{number}".encode(), digest_size=8).digest()
            if int.from_bytes(digest, "big") < threshold:
                yield text


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained tokenizer, with time and peak memory.

    Attributes:
        tokenizer: the tokenizer.
        seconds: wall time of the training itself.
        peak_bytes: peak resident memory of a separate process, including the interpreter and the library; None for a
            training in this process.
    """

    tokenizer: Tokenizer
    seconds: float
    peak_bytes: int | None = None


def train_in_process(
    name: str,
    texts: Any,
    config: Mapping[str, Any],
    *,
    sample: Mapping[str, Any] | None,
    progress: Progress,
) -> Trained | None:
    """Train in a separate process.

    Args:
        name: name of the backend.
        texts: a `Side` of a corpus; other texts cannot be read by another process.
        config: the backend's options.
        sample: share and seed of a `TrainingSample` of the texts; None for all texts.
        progress: called with the amount of work done.

    Returns:
        None if the texts, the system or a missing interpreter prevents it; the caller then trains in this process.

    Raises:
        TokbenchError: the training raised this error.
        TrainingError: the process was killed, for example because memory ran out.
    """
    if (
        peak_bytes() is None
        or not isinstance(texts, Side)
        or not texts.can_be_read_again
        or not sys.executable
    ):
        return None
    with tempfile.TemporaryDirectory(prefix="tokbench-") as folder:
        asked = {
            "backend": name,
            "texts": texts.to_json(),
            "sample": sample,
            "config": dict(config),
            "folder": folder,
        }
        found = _run_worker(json.dumps(asked), name=name, progress=progress)
        if found is None:
            return None
        tokenizer = load_saved(Path(found["folder"]))
    return Trained(tokenizer, found["seconds"], found["peak_bytes"])


def _run_worker(document: str, *, name: str, progress: Progress) -> dict[str, Any] | None:
    """Run the worker and return its final report; None if it reported nothing or cannot be started."""
    try:
        process = start_module("tokbench.evaluation.training_worker", encoding="utf-8", errors="replace")
    except OSError:
        return None
    assert process.stdin is not None
    assert process.stdout is not None
    found: dict[str, Any] | None = None
    # The worker may stop before it has read all of stdin, so a separate thread writes while this one reads.
    writer = Thread(target=_write, args=(process.stdin, document), daemon=True)
    try:
        writer.start()
        for line in process.stdout:
            message = _message(line)
            if "progress" in message:
                progress(*message["progress"])
            elif message:
                found = message
        code = process.wait()
    finally:
        end_process(process, [writer])
    if found is not None and "error" in found:
        kind = getattr(errors, found["error"], TrainingError)
        raise _error(kind, found["message"], found["hint"])
    if code < 0:
        raise TrainingError(
            f"the process that trained {name} was killed (signal {-code})",
            hint="did it run out of memory? use less text, or --no-times to train in this process",
        )
    return found


def _write(stdin: IO[str], document: str) -> None:
    try:
        with stdin:
            stdin.write(document)
    except OSError:  # the worker has ended
        return


def _message(line: str) -> dict[str, Any]:
    """Parse a line of the worker; return an empty dict for other output, such as a library's."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) and {"progress", "error", "seconds"} & message.keys() else {}


def _error(kind: type[Exception], message: str, hint: str | None) -> TokbenchError:
    """Rebuild an error that the worker raised, without calling the constructor of its class."""
    error = TokbenchError.__new__(kind if issubclass(kind, TokbenchError) else TrainingError)
    TokbenchError.__init__(error, message, hint=hint)
    return error
