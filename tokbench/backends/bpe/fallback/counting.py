"""The Python counter of pre-tokens, and the list of words that were already counted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tokbench.backends.bpe import reference
from tokbench.backends.bpe.fallback.splitting import named_pattern
from tokbench.backends.bpe.split_patterns import split
from tokbench.core.counting_fallback import PythonDocumentCounter, checked_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class PretokenCounter(PythonDocumentCounter):
    """A counter of pre-tokens in a dictionary; `threads` and `seed` are accepted and have no effect."""

    def __init__(
        self, *, pattern: str | None, special_tokens: list[str], threads: int = 1, seed: int = 0
    ) -> None:
        del threads, seed
        super().__init__()
        if "" in special_tokens:
            raise ValueError("a special token is empty")
        self._pattern = named_pattern(pattern)
        self._special_tokens = special_tokens
        self._counts: Counter[str] = Counter()
        self.pretokens = 0

    @property
    def counts(self) -> Counter[str]:
        return self._counts

    def add_counted(self, word: str, count: int) -> None:
        if count < 1:
            raise ValueError("a count must be positive")
        word.encode()  # raises for lone surrogates here, as the native kernel does
        self.counts[word] += count

    def add_totals(self, *, documents: int, num_bytes: int, pretokens: int) -> None:
        super().add_totals(documents=documents, num_bytes=num_bytes, pretokens=pretokens)
        self.pretokens += pretokens

    def finish(self) -> None:
        """Do nothing, as nothing is pending here."""

    def items(self) -> list[tuple[bytes, int]]:
        return [(pretoken.encode(), count) for pretoken, count in self.counts.items()]

    @property
    def distinct_pretokens(self) -> int:
        return len(self.counts)

    def count_document(self, text: str) -> None:
        for piece in reference.cut_at_special_tokens(text, self._special_tokens):
            if not piece.is_special:
                pretokens = split(self._pattern, piece.text)
                self.pretokens += len(pretokens)
                self.counts.update(pretokens)


class WordList:
    """A list of distinct words that were already counted."""

    def __init__(self) -> None:
        self._items: list[tuple[bytes, int]] = []
        self.documents = self.num_bytes = self.pretokens = self.memory = 0

    def add_arrays(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> None:
        for word, count in checked_words(data, offsets, counts):
            self._items.append((word, count))
            self.memory += len(word)

    def add_totals(self, *, documents: int, num_bytes: int, pretokens: int) -> None:
        self.documents += documents
        self.num_bytes += num_bytes
        self.pretokens += pretokens

    def finish(self) -> None:
        """Do nothing, as nothing is pending here."""

    def items(self) -> list[tuple[bytes, int]]:
        return self._items

    @property
    def distinct_pretokens(self) -> int:
        return len(self._items)
