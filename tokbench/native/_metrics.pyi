"""The compiled counting kernel; `tokbench.metrics.kernel` describes its methods."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tokbench.metrics import kernel

SOURCES: str
COUNTS: tuple[str, ...]
OPERATORS: tuple[str, ...]

def count_ids(ids: NDArray[np.uint32], counts: NDArray[np.int64]) -> None: ...
def edit_steps(text: str, other: str, lengths: tuple[int, int] | None = None) -> bytes: ...

class Tables:
    def __init__(
        self, classes: NDArray[np.uint8], pieces: bytes, piece_offsets: NDArray[np.int64]
    ) -> None: ...

Measurer: Callable[[Tables, int], kernel.Measurer]
