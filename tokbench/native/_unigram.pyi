"""The compiled Unigram; see `tokbench.libraries.sentencepiece.unigram`."""

import numpy as np
from numpy.typing import NDArray

SOURCES: str

def split(text: bytes, cut: str, simd: str | None = None) -> NDArray[np.int64]: ...

class Normalizer:
    def __init__(
        self,
        charsmap: bytes,
        symbols: list[bytes],
        *,
        add_dummy_prefix: bool,
        remove_extra_whitespaces: bool,
        escape_whitespaces: bool,
        treat_whitespace_as_suffix: bool,
    ) -> None: ...
    def normalize(self, text: bytes) -> bytes: ...
    def normalize_batch(self, texts: list[str], threads: int) -> list[str]: ...
    def place_pieces(
        self,
        texts: list[str],
        sizes: NDArray[np.int64],
        offsets: NDArray[np.int64],
        known: NDArray[np.uint8],
        threads: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]: ...

class ClusterMap:
    def __init__(self, charsmap: bytes, joining: NDArray[np.uint8]) -> None: ...
    def covers(self, text: str) -> bool: ...
    def replaces_each(self, text: str) -> bool: ...
    def replaced(self, text: str) -> str: ...

class DocumentEncoder:
    def __init__(
        self,
        pieces: list[bytes],
        ids: NDArray[np.uint32],
        scores: NDArray[np.float64],
        *,
        unknown: int,
        unknown_score: float,
        bytes: NDArray[np.uint32] | None,
        charsmap: bytes,
        joining: NDArray[np.uint8],
        only_spaces: bool,
        prepend_scheme: str,
        added: tuple[list[tuple[bytes, int, int]], list[tuple[bytes, int, int]]],
    ) -> None: ...
    def covers(self, text: str) -> bool: ...
    def added_places(self, text: bytes) -> list[tuple[int, int, int]]: ...
    def encode(self, text: str, *, normalized: bool = False) -> list[int]: ...
    def encode_batch(
        self, texts: list[str], threads: int, *, normalized: bool = False
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def count_batch(
        self, texts: list[str], threads: int, *, normalized: bool = False
    ) -> NDArray[np.int64]: ...
    def tells_places(self, text: str) -> bool: ...
    def place_batch(
        self, texts: list[str], threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...

class Encoder:
    def __init__(
        self,
        pieces: list[bytes],
        ids: NDArray[np.uint32],
        scores: NDArray[np.float32],
        *,
        unknown: int,
        unknown_score: float,
        bytes: NDArray[np.uint32] | None,
        reset: float,
        charsmap: bytes,
        symbols: list[bytes],
        add_dummy_prefix: bool,
        remove_extra_whitespaces: bool,
        escape_whitespaces: bool,
        treat_whitespace_as_suffix: bool,
    ) -> None: ...
    @property
    def cut(self) -> str: ...
    @property
    def words(self) -> int: ...
    @property
    def doubtful_words(self) -> int: ...
    def encode(self, text: str) -> list[int]: ...
    def encode_batch(
        self, texts: list[str], threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def count_batch(self, texts: list[str], threads: int) -> NDArray[np.int64]: ...
