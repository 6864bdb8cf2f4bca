"""Words joined into longer texts before a library encodes them, as each call has a cost, however short the text.

Words cut where no token crosses can be joined there as well; `cut_points.py` proves where.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.encoded import Encoded
from tokbench.core.token_arrays import offsets_of, range_indices
from tokbench.formats.sentencepiece.model import SPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from tokbench.formats.sentencepiece.model import SentencePieceFile

_CHARACTERS = 1 << 14
"""Of a text that is put together: many of them, for threads to share."""
_SPACES_IN_FRONT = re.compile(f"[ {SPACE}]+[^ {SPACE}]+")


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


class SpacedWords:
    """Encodes words of a SentencePiece BPE, those with spaces in front and nowhere else side by side.

    Where a piece with a space in front follows one that does not end with a space, there a word begins.

    Args:
        model: one that `model_cut` cuts.
        encode: the ids of texts, on `threads` threads.
    """

    def __init__(self, model: SentencePieceFile, encode: Callable[..., Encoded]) -> None:
        self._encode = encode
        self._begins = np.array([piece.text.startswith(SPACE) for piece in model.pieces])
        self._ends = np.array([piece.text.endswith(SPACE) for piece in model.pieces])

    def encode_batch(self, words: Sequence[str], *, threads: int | None = None) -> Encoded:
        """The ids of each word."""
        is_spaced = np.fromiter(map(bool, map(_SPACES_IN_FRONT.fullmatch, words)), np.bool_, len(words))
        spaced, others = np.flatnonzero(is_spaced).tolist(), np.flatnonzero(~is_spaced).tolist()
        groups = list(groups_of([words[number] for number in spaced]))
        texts = ["".join(group) for group in groups]
        encoded = self._encode([*texts, *[words[number] for number in others]], threads=threads)
        ends = self._ends_of_words(encoded, len(texts))
        if len(ends) != len(words):
            return self._encode(words, threads=threads)
        return _in_order(Encoded(encoded.ids, np.concatenate([[0], ends])), list(chain(spaced, others)))

    def _ends_of_words(self, encoded: Encoded, num_texts: int) -> NDArray[np.int64]:
        """Where words end: inside the first texts, and at the end of every text."""
        ids, offsets = encoded.ids, encoded.offsets
        together = ids[: offsets[num_texts]]
        inside = np.flatnonzero(self._begins[together[1:]] & ~self._ends[together[:-1]]) + 1
        inside = inside[~np.isin(inside, offsets)]
        return np.sort(np.concatenate([inside, offsets[1:]]), kind="stable")


def _in_order(encoded: Encoded, numbers: Sequence[int]) -> Encoded:
    """The ids of texts in another order: the i-th of them goes to position numbers[i]."""
    sources = np.empty(len(numbers), np.int64)
    sources[np.asarray(numbers, np.int64)] = np.arange(len(numbers))
    counts = np.diff(encoded.offsets)[sources]
    return Encoded(encoded.ids[range_indices(encoded.offsets[sources], counts)], offsets_of(counts))
