"""The compiled WordPiece; see `tokbench.backends.wordpiece.kernel`."""

import numpy as np
from numpy.typing import NDArray

SOURCES: str
CHARACTER_TABLES: str

def normal_words(
    text: str, *, clean_text: bool, handle_chinese_chars: bool, strip_accents: bool, lowercase: bool
) -> list[str]: ...
def split(text: bytes, ideographs: bool, simd: str | None = None) -> NDArray[np.int64]: ...
def is_movable(code_point: int) -> bool: ...
def settled_marks(strip_accents: bool) -> bytes: ...
def all_marked(text: str, marks: bytearray) -> bool: ...

class Encoder:
    def __init__(
        self,
        pieces: list[bytes],
        ids: NDArray[np.uint32],
        *,
        prefix: str,
        unknown: int,
        max_characters_per_word: int,
        clean_text: bool,
        handle_chinese_chars: bool,
        strip_accents: bool,
        lowercase: bool,
    ) -> None: ...
    def encode(self, text: str) -> list[int]: ...
    def encode_batch(
        self, texts: list[str], threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def count_batch(self, texts: list[str], threads: int) -> NDArray[np.int64]: ...
    def place_batch(
        self, texts: list[str], threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
