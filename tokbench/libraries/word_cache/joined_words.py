"""Words joined into longer texts before a library encodes them, as each call has a cost, however short the text.

Words cut where no token crosses can be joined there as well; `cut_points.py` proves where.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.encoded import Encoded
from tokbench.core.token_arrays import offsets_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_CHARACTERS = 1 << 14
"""Of a text that is put together: many of them, for threads to share."""


def groups_of(words: Sequence[str], *, characters: int = _CHARACTERS) -> Iterator[Sequence[str]]:
    """Neighbours, as many as have about so many characters.

    >>> list(groups_of(["a", "bcd", "e"], characters=4))
    [['a', 'bcd'], ['e']]
    """
    ends = np.cumsum(np.fromiter(map(len, words), np.int64, len(words)))
    first = 0
    while first < len(words):
        begun = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, begun + characters, side="right")), first + 1)
        yield words[first:last]
        first = last


class Lines:
    """Words, each in a line of its own.

    Args:
        words: parts of texts that `document_cut` made.

    Attributes:
        texts: what the library is to encode.
    """

    def __init__(self, words: Sequence[str]) -> None:
        groups = list(groups_of(words))
        self.texts = ["\n".join(group) for group in groups]
        # As if these texts were lines as well.
        self._firsts = offsets_of([len(word) + 1 for word in words])
        self._first_words = offsets_of(list(map(len, groups)))[:-1]

    def apart(self, encoded: Encoded, ranges: NDArray[np.int64]) -> tuple[Encoded, NDArray[np.int64]] | None:
        """Which ids are whose, and where in it each is.

        Args:
            encoded: the ids of `texts`.
            ranges: int64[N, 2], the characters of each, counted in its text.

        Returns:
            The same for the words; None where ids come in another order than words.
        """
        ranges = ranges + np.repeat(self._firsts[self._first_words], np.diff(encoded.offsets))[:, np.newaxis]
        owners = np.searchsorted(self._firsts, ranges[:, 0], side="right") - 1
        if (owners[1:] < owners[:-1]).any():
            return None
        offsets = offsets_of(np.bincount(owners, minlength=len(self._firsts) - 1))
        return Encoded(encoded.ids, offsets), ranges - self._firsts[owners][:, np.newaxis]
