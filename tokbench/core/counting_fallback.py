"""How documents reach a counter that is written in Python: as they reach the compiled ones."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokbench.core.counting import CountProgress


class PythonDocumentCounter(ABC):
    """Divides sources into documents; see `tokbench.core.counting.DocumentCounter`."""

    def __init__(self) -> None:
        self._source = -1
        self._source_documents = "file"
        self._source_bytes = bytearray()
        self.documents = 0
        self.num_bytes = 0
        self.invalid: tuple[int, int] | None = None

    @abstractmethod
    def count_document(self, text: str) -> None:
        """Count what is in a document that is not empty."""

    def add_texts(self, texts: list[str]) -> None:
        """Whole documents."""
        for text in texts:
            if text:
                self.num_bytes += len(text.encode())
                self.documents += 1
                self.count_document(text)

    def add_file(self, fd: int, documents: str, progress: CountProgress | None) -> int:
        """A source read from a file descriptor; its bytes."""
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
        """A source begins: one document, or one a line."""
        if documents not in ("file", "lines"):
            raise ValueError(f'documents must be "file" or "lines", not "{documents}"')
        self._source += 1
        self._source_documents = documents
        self._source_bytes = bytearray()

    def feed(self, block: bytes) -> None:
        """The next block of it."""
        self._source_bytes += block

    def end_source(self) -> None:
        """The source is complete, and decoded."""
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
