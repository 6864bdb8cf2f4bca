"""Documents that are read once and kept for further passes, as long as there is room for them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokbench.corpus.document import Document

MOST_BYTES = 256 << 20
"""Of memory that documents may take."""

_DOCUMENT_BYTES = 256
"""Of a document beside its text."""


class DocumentMemory:
    """Keeps the documents of the first complete pass; larger corpora are read again each time."""

    def __init__(self, *, most_bytes: int = MOST_BYTES) -> None:
        """Nothing is kept yet, and never more than `most_bytes` of memory."""
        self._most_bytes = most_bytes
        self._kept: list[Document] | None = None
        self._has_room = True

    def documents(self, read: Callable[[], Iterator[Document]]) -> Iterator[Document]:
        """The documents that `read` gives, from memory where they are kept."""
        if self._kept is not None:
            return iter(self._kept)
        return self._keeping(read()) if self._has_room else read()

    def _keeping(self, documents: Iterator[Document]) -> Iterator[Document]:
        kept: list[Document] = []
        num_bytes = 0
        for document in documents:
            num_bytes += sys.getsizeof(document.text) + _DOCUMENT_BYTES
            if num_bytes <= self._most_bytes:
                kept.append(document)
            elif self._has_room:
                self._has_room = False
                kept.clear()
            yield document
        if self._has_room:
            self._kept = kept
