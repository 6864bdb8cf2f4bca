"""Texts encoded stretch by stretch, each different one once: for libraries that take their time over each text.

A stretch is what stands between two places that no token ever crosses, whatever the text: `cut_points.py` says
which tokenizers have such places. Stretches repeat as words do, so that after a
few megabytes next to nothing is left for the library; the rest is looking up and copying arrays.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.core.base import utf8
from tokbench.core.interfaces import Encoded, EncodedSpans
from tokbench.core.token_arrays import offsets_of, places_of
from tokbench.libraries.word_cache.word_numbers import new_numbering

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike, NDArray

_MOST_TOKENS = 1 << 21
"""Tokens that are remembered, and stretches: about 40 MB with their places, and as much for the numbers of these."""
_MOST_BYTES = 1 << 25
"""Of the stretches themselves: some are long, or have no tokens."""


class _Column:
    """Numbers in an array that grows at its end, without being copied each time."""

    def __init__(self, dtype: DTypeLike) -> None:
        self._values: NDArray[Any] = np.zeros(64, dtype)
        self._size = 0

    def extend(self, values: NDArray[Any]) -> None:
        size = self._size + len(values)
        if size > len(self._values):
            grown = np.empty(size * 2, self._values.dtype)
            grown[: self._size] = self._values[: self._size]
            self._values = grown
        self._values[self._size : size] = values
        self._size = size

    def view(self) -> NDArray[Any]:
        return self._values[: self._size]


class _Table:
    """The tokens of the stretches that are known, one behind the other."""

    def __init__(self) -> None:
        self._ids, self._kinds = _Column(np.uint32), _Column(np.uint8)
        self._starts, self._stops = _Column(np.int64), _Column(np.int64)
        self._ends = _Column(np.int64)  # of the tokens of each stretch
        self._ends.extend(np.zeros(1, np.int64))
        self._sizes = _Column(np.int64)  # the UTF-8 bytes of each stretch
        self.num_bytes = 0  # of all of them

    @property
    def num_tokens(self) -> int:
        return len(self._ids.view())

    @property
    def num_stretches(self) -> int:
        return len(self._sizes.view())

    def add(self, tokens: EncodedSpans, sizes: NDArray[np.int64]) -> None:
        """Further stretches, each as a text."""
        self._ends.extend(tokens.encoded.offsets[1:] + self.num_tokens)
        self._ids.extend(tokens.encoded.ids)
        self._starts.extend(tokens.starts)
        self._stops.extend(tokens.stops)
        self._kinds.extend(tokens.kinds)
        self._sizes.extend(sizes)
        self.num_bytes += int(sizes.sum())

    def texts(self, numbers: NDArray[np.int64], stretches: NDArray[np.int64]) -> Encoded:
        """The ids of texts that are made of known stretches.

        Args:
            numbers: int64[R], the stretches of all texts.
            stretches: int64[texts + 1], which of them are whose.
        """
        places, counts = self._places(numbers)
        return Encoded(self._ids.view()[places], offsets_of(counts)[stretches])

    def texts_with_places(self, numbers: NDArray[np.int64], stretches: NDArray[np.int64]) -> EncodedSpans:
        """The same with the places and the kinds of the tokens."""
        places, counts = self._places(numbers)
        begins = offsets_of(self._sizes.view()[numbers])
        inside = begins[:-1] - np.repeat(begins[stretches[:-1]], np.diff(stretches))
        moved = np.repeat(inside, counts)
        return EncodedSpans(
            encoded=Encoded(self._ids.view()[places], offsets_of(counts)[stretches]),
            starts=self._starts.view()[places] + moved,
            stops=self._stops.view()[places] + moved,
            kinds=self._kinds.view()[places],
        )

    def _places(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where in the table each token of some stretches is, and how many tokens each stretch has."""
        ends = self._ends.view()
        firsts = ends[numbers]
        counts = ends[numbers + 1] - firsts
        return places_of(firsts, counts), counts


def without_places(encoded: Encoded) -> EncodedSpans:
    """Ids whose places nobody will ask for."""
    none = np.zeros(len(encoded.ids), np.int64)
    return EncodedSpans(encoded, none, none, np.zeros(len(encoded.ids), np.uint8))


class StretchMemo:
    """Encodes texts by what is remembered of their stretches; may be used by several threads at once.

    Args:
        cut: a name of `tokbench.libraries.word_cache.cut_points.CUTS`: how texts are cut into stretches.
        encode: encodes different stretches, each as a text of its own, on `threads` threads.
        most_tokens: how many are remembered, and how many stretches; when there are more, all are forgotten.
        most_bytes: the same for the bytes of the stretches.

    Usage:

        memo = StretchMemo(cut="white space", encode=library_spans)
        memo.encode_spans(["a text", "another text"])
    """

    def __init__(
        self,
        *,
        cut: str,
        encode: Callable[..., EncodedSpans],
        most_tokens: int = _MOST_TOKENS,
        most_bytes: int = _MOST_BYTES,
    ) -> None:
        self._encode = encode
        self._most_tokens = most_tokens
        self._most_bytes = most_bytes
        self._lock = Lock()
        self._numbering = new_numbering(cut)
        self._table = _Table()

    def encode_batch(self, texts: Sequence[str], *, threads: int | None = None) -> Encoded:
        """The ids of texts. Raises as `encode_spans`."""
        with self._lock:
            encoded = self._table.texts(*self._numbers_of(texts, threads=threads))
            self._forget_too_many()
        return encoded

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """The tokens of texts with their places. Raises `TextError` for surrogates, and what the library raises."""
        with self._lock:
            tokens = self._table.texts_with_places(*self._numbers_of(texts, threads=threads))
            self._forget_too_many()
        return tokens

    def _numbers_of(
        self, texts: Sequence[str], *, threads: int | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The stretches of texts by their numbers, and which are whose, once all of them are in the table."""
        try:
            numbers, offsets, new = self._numbering.number(list(texts))
            if new:
                sizes = np.fromiter((len(stretch.encode()) for stretch in new), np.int64, len(new))
                self._table.add(self._encode(new, threads=threads), sizes)
        except BaseException:
            self._forget()  # what has a number may not be in the table
            for text in texts:
                utf8(text)  # says where a surrogate is
            raise
        return numbers, offsets

    def _forget_too_many(self) -> None:
        table = self._table
        if (
            max(table.num_tokens, table.num_stretches) > self._most_tokens
            or table.num_bytes > self._most_bytes
        ):
            self._forget()

    def _forget(self) -> None:
        self._numbering.clear()
        self._table = _Table()
