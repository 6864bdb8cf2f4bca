"""The compiled Unigram trainer; see `tokbench.backends.unigram.kernel`."""

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
    ) -> None: ...
    def add_texts(self, texts: list[str]) -> None: ...
    def add_file(self, fd: int, documents: str, progress: Callable[[int], object] | None) -> int: ...
    def begin_source(self, documents: str) -> None: ...
    def feed(self, block: bytes) -> None: ...
    def end_source(self) -> None: ...
    def finish(self) -> None: ...
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
    def alphabet(self) -> int: ...

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
    symbols: list[str],
    coverage: float,
    required: list[int],
) -> TrainingText: ...
def train(
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
