"""The compiled normaliser of SentencePiece models; see `tokbench.libraries.sentencepiece.normalization`."""

import numpy as np
from numpy.typing import NDArray

SOURCES: str

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
    def normalize_with_places(self, text: bytes) -> tuple[bytes, NDArray[np.uint32]]: ...
