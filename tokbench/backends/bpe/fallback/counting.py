"""Counting pre-tokens in a dictionary."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from tokbench.backends.bpe import reference
from tokbench.backends.bpe.fallback.splitting import named_pattern
from tokbench.backends.bpe.split_patterns import split

if TYPE_CHECKING:
    from collections.abc import Callable


class PretokenCounter:
    """Counts pre-tokens in a dictionary; `threads` and `seed` are taken and change nothing."""

    def __init__(
        self, *, pattern: str | None, special_tokens: list[str], threads: int = 1, seed: int = 0
    ) -> None:
        del threads, seed
        if "" in special_tokens:
            raise ValueError("a special token is empty")
        self._pattern = named_pattern(pattern)
        self._special_tokens = special_tokens
        self._counts: Counter[str] = Counter()
        self._source = -1
        self._source_documents = "file"
        self._source_bytes = bytearray()
        self.documents = 0
        self.num_bytes = 0
        self.pretokens = 0
        self.invalid: tuple[int, int] | None = None

    def add_texts(self, texts: list[str]) -> None:
        for text in texts:
            if text:
                self._add_document(text)

    def add_file(self, fd: int, documents: str, progress: Callable[[int], None] | None) -> int:
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
        if documents not in ("file", "lines"):
            raise ValueError(f'documents must be "file" or "lines", not "{documents}"')
        self._source += 1
        self._source_documents = documents
        self._source_bytes = bytearray()

    def feed(self, block: bytes) -> None:
        self._source_bytes += block

    def end_source(self) -> None:
        try:
            text = self._source_bytes.decode()
        except UnicodeDecodeError as error:
            self.invalid = self.invalid or (self._source, error.start)
            return
        documents = [text] if self._source_documents == "file" else _lines(text)
        self.add_texts(documents)

    def add_counted(self, pretoken: str, count: int) -> None:
        if count < 1:
            raise ValueError("a count must be positive")
        pretoken.encode()  # raises for lone surrogates here, as the native kernel does
        self._counts[pretoken] += count

    def add_totals(self, *, documents: int, num_bytes: int, pretokens: int) -> None:
        self.documents += documents
        self.num_bytes += num_bytes
        self.pretokens += pretokens

    def finish(self) -> None:
        """Nothing is pending here."""

    def items(self) -> list[tuple[bytes, int]]:
        return [(pretoken.encode(), count) for pretoken, count in self._counts.items()]

    @property
    def distinct_pretokens(self) -> int:
        return len(self._counts)

    def _add_document(self, text: str) -> None:
        self.documents += 1
        self.num_bytes += len(text.encode())
        for piece in reference.cut_at_special_tokens(text, self._special_tokens):
            if not piece.is_special:
                pretokens = split(self._pattern, piece.text)
                self.pretokens += len(pretokens)
                self._counts.update(pretokens)


def _lines(text: str) -> list[str]:
    *terminated, last = text.split("\n")
    lines = [*(line.removesuffix("\r") for line in terminated), last]
    return [line for line in lines if line and not line.isspace()]
