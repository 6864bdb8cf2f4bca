"""Training within a bound on memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tokbench.core.counted_words import TrainsOnWords
from tokbench.counting.spilled_words import count_within
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.core.interfaces import Backend, Tokenizer
    from tokbench.core.progress import Progress


def learn_within(
    backend: Backend,
    documents: Iterable[str],
    config: Any,
    *,
    memory: int,
    min_count: int = 1,
    progress: Progress,
) -> Tokenizer:
    """Learn a tokenizer as `backend.train` does, in a bound on memory: words that do not fit wait in a temporary file.

    Args:
        backend: that of bpe, on the native kernel.
        documents: read once.
        config: of the backend.
        memory: bytes that this process may take.
        min_count: words that occur fewer times are left out, which changes what is learned.
        progress: told how far it is.

    Raises:
        ConfigError: a backend that cannot, or too little memory for anything.
        TrainingError: as `backend.train`; also words whose merging would take more, told before it begins.
        CorpusError, StoreError, BackendUnavailableError: as `count_within`.
    """
    if not isinstance(backend, TrainsOnWords) or not backend.bounds_memory:
        raise ConfigError(
            f"--memory is for the backend bpe on its native kernel, and this is {backend.name} ({backend.kernel})",
            hint="`tokbench count-words` counts the words of other backends in little memory",
        )
    with count_within(
        documents,
        backend.word_counting(config),
        memory=memory,
        min_count=min_count,
        threads=config.threads or os.cpu_count() or 1,
        progress=progress,
    ) as words:
        return backend.train_on_words(words, config, progress=progress)
