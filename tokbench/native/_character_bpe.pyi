"""The compiled BPE over characters; see `tokbench.libraries.sentencepiece.bpe`."""

import numpy as np
from numpy.typing import NDArray

SOURCES: str

class Encoder:
    def __init__(
        self,
        pieces: list[bytes],
        scores: NDArray[np.float32],
        kinds: NDArray[np.uint8],
        *,
        unknown: int,
        byte_ids: NDArray[np.uint32] | None = None,
        charsmap: bytes,
        add_dummy_prefix: bool,
        remove_extra_whitespaces: bool,
        escape_whitespaces: bool,
        treat_whitespace_as_suffix: bool,
    ) -> None: ...
    def encode(self, text: str) -> list[int]: ...
    def encode_batch(
        self, texts: list[str], threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def count_batch(self, texts: list[str], threads: int) -> NDArray[np.int64]: ...

class DocumentEncoder:
    def __init__(
        self,
        tokens: list[bytes],
        merges: NDArray[np.uint32],
        *,
        unknown: int,
        joins_unknown: bool,
        byte_ids: NDArray[np.uint32] | None,
        space_in_front: str,
        escape_whitespaces: bool,
        added: tuple[list[tuple[bytes, int, int]], list[tuple[bytes, int, int]]],
        added_with_specials: tuple[list[tuple[bytes, int, int]], list[tuple[bytes, int, int]]],
    ) -> None: ...
    def added_places(self, text: bytes, *, specials: bool) -> list[tuple[int, int, int]]: ...
    def encode(self, text: str, *, specials: bool = False, normalized: bool = False) -> list[int]: ...
    def encode_batch(
        self, texts: list[str], threads: int, *, specials: bool = False, normalized: bool = False
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def count_batch(
        self, texts: list[str], threads: int, *, specials: bool = False, normalized: bool = False
    ) -> NDArray[np.int64]: ...
