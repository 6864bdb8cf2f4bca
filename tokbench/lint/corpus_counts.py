"""Token counts of a corpus, in one pass of batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.progress import no_progress
from tokbench.core.training import batches

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer


@dataclass(frozen=True, slots=True, eq=False)
class CorpusCounts:
    """The token counts of a corpus.

    Attributes:
        frequencies: int64[V], token occurrences of each id.
        documents: number of documents.
        num_bytes: UTF-8 bytes of the documents.
    """

    frequencies: NDArray[np.int64]
    documents: int
    num_bytes: int

    @property
    def tokens(self) -> int:
        """Number of all token occurrences."""
        return int(self.frequencies.sum())


def count_corpus(tokenizer: Tokenizer, texts: Iterable[str], *, threads: int | None = None) -> CorpusCounts:
    """Encode texts and count ids, special tokens as ordinary text.

    Raises:
        TextError: a text cannot be encoded.
        CorpusError: a text cannot be read.
    """
    frequencies = np.zeros(tokenizer.info.vocab_size, np.int64)
    documents = num_bytes = 0
    for batch in batches(texts, progress=no_progress):
        ids = tokenizer.encode_batch(batch, threads=threads).ids
        frequencies += np.bincount(ids, minlength=len(frequencies))
        documents += len(batch)
        num_bytes += sum(len(text.encode()) for text in batch)
    return CorpusCounts(frequencies, documents, num_bytes)
