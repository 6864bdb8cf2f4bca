"""A word cache: texts are encoded word by word, and each different word once.

For libraries whose encoding is slow. A *word* here is what lies between two positions that no token ever crosses,
whatever the text: `cut_points.py` says which tokenizers have them. Words repeat, so that after a few megabytes
nearly all are known, and the rest is looking up numbers and copying arrays.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tokbench.core.base import utf8
from tokbench.core.encoded import Encoded, EncodedSpans
from tokbench.core.token_arrays import offsets_of, range_indices
from tokbench.native.kernel_choice import chosen_module

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike, NDArray

_MOST_TOKENS = 1 << 21
"""The most tokens in the cache, and the most words: about 40 MB with spans, and as much for the words' numbers."""
_MOST_BYTES = 1 << 25
"""The most bytes of all words: some are long, or have no tokens."""


COMPILED = "tokbench.native._word_cache"
FALLBACK = "tokbench.libraries.word_cache.fallback"


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
    """The tokens of known words, one word after another."""

    def __init__(self) -> None:
        self._ids, self._kinds = _Column(np.uint32), _Column(np.uint8)
        self._starts, self._stops = _Column(np.int64), _Column(np.int64)
        self._ends = _Column(np.int64)  # of the tokens of each word
        self._ends.extend(np.zeros(1, np.int64))
        self._sizes = _Column(np.int64)  # the UTF-8 bytes of each word
        self.num_bytes = 0  # of all of them

    @property
    def num_tokens(self) -> int:
        return len(self._ids.view())

    @property
    def num_words(self) -> int:
        return len(self._sizes.view())

    def add(self, tokens: EncodedSpans, sizes: NDArray[np.int64]) -> None:
        """Add words, each encoded as a text."""
        self._ends.extend(tokens.encoded.offsets[1:] + self.num_tokens)
        self._ids.extend(tokens.encoded.ids)
        self._starts.extend(tokens.starts)
        self._stops.extend(tokens.stops)
        self._kinds.extend(tokens.kinds)
        self._sizes.extend(sizes)
        self.num_bytes += int(sizes.sum())

    def texts(self, numbers: NDArray[np.int64], offsets: NDArray[np.int64]) -> Encoded:
        """The ids of texts that are made of known words.

        Args:
            numbers: int64[R], the words of all texts.
            offsets: int64[texts + 1], where the words of each text begin, and the end.
        """
        places, counts = self._places(numbers)
        return Encoded(self._ids.view()[places], offsets_of(counts)[offsets])

    def texts_with_spans(self, numbers: NDArray[np.int64], offsets: NDArray[np.int64]) -> EncodedSpans:
        """The same with the spans and the kinds of the tokens."""
        places, counts = self._places(numbers)
        begins = offsets_of(self._sizes.view()[numbers])
        inside = begins[:-1] - np.repeat(begins[offsets[:-1]], np.diff(offsets))
        moved = np.repeat(inside, counts)
        return EncodedSpans(
            encoded=Encoded(self._ids.view()[places], offsets_of(counts)[offsets]),
            starts=self._starts.view()[places] + moved,
            stops=self._stops.view()[places] + moved,
            kinds=self._kinds.view()[places],
        )

    def _places(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The index in the table of each token of some words, and how many tokens each word has."""
        ends = self._ends.view()
        firsts = ends[numbers]
        counts = ends[numbers + 1] - firsts
        return range_indices(firsts, counts), counts


def without_spans(encoded: Encoded) -> EncodedSpans:
    """Ids without spans, where nobody asks for them: all are zero."""
    none = np.zeros(len(encoded.ids), np.int64)
    return EncodedSpans(encoded, none, none, np.zeros(len(encoded.ids), np.uint8))


class WordCache:
    """Encodes texts from the cached tokens of their words; several threads may share it.

    Args:
        cut: a name of `tokbench.libraries.word_cache.cut_points.CUTS`: how texts are cut into words.
        encode: encodes different words, each as a text of its own, on `threads` threads.
        most_tokens: the most tokens, and the most words, in the cache; beyond that it is emptied.
        most_bytes: the most bytes of all words.

    Usage:

        cache = WordCache(cut="white space", encode=library_spans)
        cache.encode_spans(["a text", "another text"])
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
            self._empty_if_full()
        return encoded

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """The tokens of texts with their spans. Raises `TextError` for surrogates, and what the library raises."""
        with self._lock:
            tokens = self._table.texts_with_spans(*self._numbers_of(texts, threads=threads))
            self._empty_if_full()
        return tokens

    def _numbers_of(
        self, texts: Sequence[str], *, threads: int | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of the words of texts, and offsets for each text; all of them are in the table afterwards."""
        try:
            numbers, offsets, new = self._numbering.number(list(texts))
            if new:
                sizes = np.fromiter((len(word.encode()) for word in new), np.int64, len(new))
                self._table.add(self._encode(new, threads=threads), sizes)
        except BaseException:
            self._empty()  # what has a number may not be in the table
            for text in texts:
                utf8(text)  # says where a surrogate is
            raise
        return numbers, offsets

    def _empty_if_full(self) -> None:
        table = self._table
        if max(table.num_tokens, table.num_words) > self._most_tokens or table.num_bytes > self._most_bytes:
            self._empty()

    def _empty(self) -> None:
        self._numbering.clear()
        self._table = _Table()


class Numbering(Protocol):
    """Gives each different word a number, from 0 on, in the order in which they come."""

    def number(self, texts: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
        """The words of texts.

        Returns:
            int64[R] their numbers, int64[len(texts) + 1] which of these are whose, and the words that
            are new, in the order of their numbers.

        Raises:
            ValueError: a text holds a lone surrogate; then nothing has got a number.
        """

    def clear(self) -> None:
        """Forget them all."""


def new_numbering(cut: str) -> Numbering:
    """A numbering of the words that a cut of `tokbench.libraries.word_cache.cut_points.CUTS` makes.

    Raises:
        BackendUnavailableError: the compiled module is demanded and not installed.
    """
    _, module = chosen_module(compiled=COMPILED, fallback=FALLBACK)
    numbering: Numbering = module.Numbering(cut)
    return numbering
