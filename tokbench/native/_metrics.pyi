"""The compiled measuring kernel; see native/binding.cpp."""

import numpy as np
from numpy.typing import NDArray

SOURCES: str
COUNTS: tuple[str, ...]
OPERATORS: tuple[str, ...]

def count_ids(ids: NDArray[np.uint32], counts: NDArray[np.int64]) -> None: ...

class Tables:
    def __init__(
        self, classes: NDArray[np.uint8], pieces: bytes, piece_offsets: NDArray[np.int64]
    ) -> None: ...

class Measurer:
    def __init__(self, tables: Tables, num_groups: int) -> None: ...
    def add(
        self,
        *,
        text: bytes,
        text_offsets: NDArray[np.int64],
        token_offsets: NDArray[np.int64],
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        kinds: NDArray[np.uint8],
        groups: NDArray[np.int32],
    ) -> NDArray[np.int64]: ...
    def add_tiled(
        self,
        *,
        text: bytes,
        text_offsets: NDArray[np.int64],
        token_offsets: NDArray[np.int64],
        ids: NDArray[np.uint32],
        groups: NDArray[np.int32],
    ) -> NDArray[np.int64]: ...
    def add_texts(
        self,
        *,
        texts: tuple[str, ...],
        token_offsets: NDArray[np.int64],
        ids: NDArray[np.uint32],
        groups: NDArray[np.int32],
    ) -> NDArray[np.int64]: ...
    def join(self, other: Measurer) -> None: ...
    def totals(self) -> NDArray[np.int64]: ...
    def numbers_by_length(self) -> NDArray[np.int64]: ...
    def word_types(self) -> NDArray[np.int64]: ...
    def worst_words(self, group: int, n: int) -> list[tuple[bytes, int, int]]: ...
