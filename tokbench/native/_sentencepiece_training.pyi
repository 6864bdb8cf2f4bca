"""The compiled trainers of SentencePiece's algorithms; see `tokbench.backends.sentencepiece.kernel`."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

SOURCES: str

class WordCounter:
    def __init__(
        self,
        *,
        dummy_prefix: bool,
        collapse: bool,
        whole_lines: bool,
        special_tokens: list[str],
        threads: int,
        seed: int = 0x5EED,
    ) -> None: ...
    def add_texts(self, texts: list[str]) -> None: ...
    def add_file(self, fd: int, documents: str, progress: Callable[[int], object] | None) -> int: ...
    def begin_source(self, documents: str) -> None: ...
    def feed(self, block: bytes) -> None: ...
    def end_source(self) -> None: ...
    def finish(self) -> None: ...
    def drain(self) -> None: ...
    def clear_counts(self) -> None: ...
    def arrays(
        self, first: int = 0, last: int = 64
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]: ...
    def add_arrays(
        self,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        counts: NDArray[np.int64],
        *,
        first: int = 0,
        last: int = 64,
    ) -> None: ...
    def add_totals(self, *, documents: int, num_bytes: int, pretokens: int) -> None: ...
    @property
    def memory(self) -> int: ...
    @property
    def invalid(self) -> tuple[int, int] | None: ...
    @property
    def documents(self) -> int: ...
    @property
    def num_bytes(self) -> int: ...
    @property
    def words(self) -> int: ...
    @property
    def distinct(self) -> int: ...

class TrainingText:
    @property
    def num_characters(self) -> int: ...
    @property
    def distinct(self) -> int: ...
    @property
    def is_blank(self) -> bool: ...
    @property
    def too_many(self) -> list[int]: ...
    @property
    def alphabet(self) -> int: ...
    @property
    def characters(self) -> list[tuple[str, int]]: ...

def training_text(
    counter: WordCounter,
    *,
    starts: NDArray[np.uint32],
    scripts: NDArray[np.uint8],
    longest: int,
    split_by_script: bool,
    split_by_number: bool,
    split_by_whitespace: bool,
    split_digits: bool,
    whitespace_only: bool,
    charsmap: bytes,
    collapse: bool,
    symbols: list[str],
    coverage: float,
    required: list[int],
    most_codes: int,
) -> TrainingText: ...
def train_bpe(
    text: TrainingText, *, num_pieces: int, threads: int, progress: Callable[[int], object] | None
) -> list[str]: ...
def train_unigram(
    text: TrainingText,
    *,
    size: int,
    most_seeds: int,
    pruned_to: int,
    kept_share: float,
    rounds: int,
    threads: int,
    progress: Callable[[int, int], object] | None,
) -> tuple[list[str], NDArray[np.float64], int]: ...
