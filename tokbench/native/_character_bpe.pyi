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

def merging_encoder(
    tokens: list[bytes],
    merges: NDArray[np.uint32],
    *,
    unknown: int,
    joins_unknown: bool,
    byte_ids: NDArray[np.uint32] | None = None,
    add_dummy_prefix: bool,
    escape_whitespaces: bool,
) -> Encoder: ...
