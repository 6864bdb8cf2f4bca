"""The compiled numbering of words; see `tokbench.libraries.word_cache.cache`."""

import numpy as np
from numpy.typing import NDArray

SOURCES: str

class Numbering:
    def __init__(self, cut: str) -> None: ...
    def number(self, texts: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]: ...
    def clear(self) -> None: ...
