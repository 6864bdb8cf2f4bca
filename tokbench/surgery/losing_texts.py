"""The texts of a corpus that have more tokens under a new tokenizer."""

from __future__ import annotations

import heapq
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress, reading_of
from tokbench.evaluation.counting_pass import batches

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Document

FEWEST_TOKENS = 8
"""Minimum number of old tokens of a text: two tokens instead of one are not a notable loss."""
_MOST = 10
_CHARACTERS_KEPT = 200


@dataclass(frozen=True, slots=True)
class LosingText:
    """A text that has more tokens under a new tokenizer.

    Attributes:
        source: its source, as messages name it.
        group: its group, such as a language.
        text: its beginning.
        old_tokens: number of its old tokens.
        new_tokens: number of its new tokens.
    """

    source: str
    group: str
    text: str
    old_tokens: int
    new_tokens: int

    @property
    def ratio(self) -> float:
        """Ratio of new tokens to old tokens."""
        return self.new_tokens / self.old_tokens

    def to_json(self) -> dict[str, Any]:
        """Return the JSON of the text."""
        return asdict(self)


def losing_texts(
    old: Tokenizer,
    new: Tokenizer,
    documents: Iterable[Document],
    *,
    threads: int | None = None,
    progress: Progress = no_progress,
) -> tuple[LosingText, ...]:
    """Find the documents whose number of tokens grows most, by ratio; documents with few tokens are skipped.

    Args:
        old: the old tokenizer.
        new: the new tokenizer.
        documents: the documents, read once.
        threads: number of threads for encoding; None uses every processor.
        progress: called with the amount of work done.

    Returns:
        Up to ten documents with more tokens than before, in descending order of the ratio.
    """
    found: list[LosingText] = []
    read, num_bytes = reading_of(documents), 0
    for batch in batches(documents):
        texts = [document.text for document in batch]
        before, after = (
            tokenizer.encode_batch(texts, threads=threads).counts.tolist() for tokenizer in (old, new)
        )
        found += [
            LosingText(document.source, document.group, document.text[:_CHARACTERS_KEPT], was, becomes)
            for document, was, becomes in zip(batch, before, after, strict=True)
            if becomes > was >= FEWEST_TOKENS
        ]
        found = heapq.nlargest(_MOST, found, key=lambda text: (text.ratio, text.new_tokens - text.old_tokens))
        num_bytes += sum(len(text.encode()) for text in texts)
        progress("comparing texts", *read(num_bytes), "bytes")
    return tuple(found)
