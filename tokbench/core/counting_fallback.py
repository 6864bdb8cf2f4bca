"""The Python base of document counters, with the interface of the compiled ones."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from tokbench.core.counted_words import PARTS, WordArrays, part_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.training import CountProgress

_WORD_BYTES = 160
"""The approximate bytes that a word takes in a dictionary."""


class PythonWords(ABC):
    """Words in a dictionary, read and added in bulk; see `tokbench.core.counted_words.WordCounter`."""

    documents = 0
    num_bytes = 0

    @property
    @abstractmethod
    def counts(self) -> Counter[str]:
        """The words and their counts."""

    @abstractmethod
    def add_counted(self, word: str, count: int) -> None:
        """Add occurrences of a word that was counted elsewhere."""

    @abstractmethod
    def finish(self) -> None:
        """End the counting; nothing may be added afterwards."""

    def add_totals(self, *, documents: int, num_bytes: int, pretokens: int) -> None:
        """Add the totals of words that were counted elsewhere."""
        del pretokens
        self.documents += documents
        self.num_bytes += num_bytes

    def drain(self) -> None:
        """Count all text that was received."""
        self.finish()

    def clear_counts(self) -> None:
        """Drop the words, but keep the totals."""
        self.counts.clear()

    @property
    def memory(self) -> int:
        """The approximate size of the dictionary in bytes."""
        return len(self.counts) * _WORD_BYTES

    def arrays(self, first: int = 0, last: int = PARTS) -> WordArrays:
        """Return the words of parts `first` to `last`, sorted by bytes."""
        _check_parts(first, last)
        self.drain()
        words = ((word.encode(), count) for word, count in self.counts.items())
        return WordArrays.of(sorted(item for item in words if first <= part_of(item[0]) < last))

    def add_arrays(
        self,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        counts: NDArray[np.int64],
        *,
        first: int = 0,
        last: int = PARTS,
    ) -> None:
        """Add words that were counted elsewhere, if their part is in the range."""
        _check_parts(first, last)
        for word, count in checked_words(data, offsets, counts):
            if first <= part_of(word) < last:
                self.add_counted(word.decode(), count)


def checked_words(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], counts: NDArray[np.int64]
) -> Iterator[tuple[bytes, int]]:
    """Yield the words of arrays from outside. Raises ValueError for invalid arrays."""
    places = offsets.tolist()
    if len(places) != len(counts) + 1 or places[0] < 0 or places != sorted(places) or places[-1] > len(data):
        raise ValueError("there must be one offset more than counts, each where a word can end")
    for number, (word, count) in enumerate(WordArrays(data, offsets, counts).items()):
        try:
            word.decode()
        except UnicodeDecodeError:
            raise ValueError(f"word {number} is not UTF-8") from None
        if not word:
            raise ValueError(f"word {number} is empty")
        if count < 1:
            raise ValueError(f"word {number} has a count below 1")
        yield word, count


def _check_parts(first: int, last: int) -> None:
    if not 0 <= first <= last <= PARTS:
        raise ValueError("there are no such parts")


class PythonDocumentCounter(PythonWords):
    """Divides sources into documents; see `tokbench.core.training.DocumentCounter`."""

    def __init__(self) -> None:
        self._source = -1
        self._source_documents = "file"
        self._source_bytes = bytearray()
        self.invalid: tuple[int, int] | None = None

    @abstractmethod
    def count_document(self, text: str) -> None:
        """Count the words of a document that is not empty."""

    def add_texts(self, texts: list[str]) -> None:
        """Add whole documents."""
        for text in texts:
            if text:
                self.num_bytes += len(text.encode())
                self.documents += 1
                self.count_document(text)

    def add_file(self, fd: int, documents: str, progress: CountProgress | None) -> int:
        """Add a source that is read from a file descriptor; return its number of bytes."""
        self.begin_source(documents)
        size = 0
        while block := os.read(fd, 1 << 20):
            size += len(block)
            self.feed(block)
            if progress is not None:
                progress(size)
        self.end_source()
        return size

    def begin_source(self, documents: str) -> None:
        """Begin a source that is one document, or one document a line."""
        if documents not in ("file", "lines"):
            raise ValueError(f'documents must be "file" or "lines", not "{documents}"')
        self._source += 1
        self._source_documents = documents
        self._source_bytes = bytearray()

    def feed(self, block: bytes) -> None:
        """Add the next block of the source."""
        self._source_bytes += block

    def end_source(self) -> None:
        """End the source: decode it and count its documents."""
        try:
            text = self._source_bytes.decode()
        except UnicodeDecodeError as error:
            self.invalid = self.invalid or (self._source, error.start)
            return
        documents = [text] if self._source_documents == "file" else _lines(text)
        self.add_texts(documents)


def _lines(text: str) -> list[str]:
    *terminated, last = text.split("\n")
    lines = [*(line.removesuffix("\r") for line in terminated), last]
    return [line for line in lines if line and not line.isspace()]
