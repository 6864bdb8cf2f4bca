"""Training of candidates for a comparison: one per algorithm, on the same text and with the same vocabulary size."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from tokbench.core.capabilities import AdvisesTrainingSize
from tokbench.core.progress import files_read, no_progress
from tokbench.errors import TrainingError
from tokbench.evaluation.training_process import Trained, train_in_process
from tokbench.registry import get_backend

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
