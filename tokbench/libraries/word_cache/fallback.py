"""The numbering of words in Python: the reference, and what runs without the compiled module."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.token_arrays import offsets_of
from tokbench.libraries.word_cache.cut_points import CUTS

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Numbering:
    """See `tokbench.libraries.word_cache.cache.Numbering`."""

    def __init__(self, cut: str) -> None:
        if cut not in CUTS:
            raise ValueError(f"no such cut: {cut}")
        self._cut = CUTS[cut].findall
        self._numbers: dict[str, int] = {}

    def number(self, texts: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
        """The words of texts."""
        for text in texts:
            text.encode()  # raises for lone surrogates here, as the compiled module does
        cut: list[list[str]] = [self._cut(text) for text in texts]
        known = len(self._numbers)
        for word in dict.fromkeys(chain.from_iterable(cut)):
            self._numbers.setdefault(word, len(self._numbers))
        numbers = np.fromiter(map(self._numbers.__getitem__, chain.from_iterable(cut)), np.int64)
        return numbers, offsets_of(list(map(len, cut))), list(self._numbers)[known:]

    def clear(self) -> None:
        """Forget them all."""
        self._numbers = {}
