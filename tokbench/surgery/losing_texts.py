"""The texts of a corpus that become more tokens than before."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress, reading_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Document

FEWEST_TOKENS = 8
"""Old tokens of a text that is looked at: two tokens instead of one are not a loss to speak of."""
_BATCH_CHARACTERS = 1 << 20
_CHARACTERS_KEPT = 200


@dataclass(frozen=True, slots=True)
class LosingText:
    """A text that becomes more tokens.

    Attributes:
        source: what messages call it.
        group: a language or another kind of text.
        text: its beginning.
        old_tokens: how many it was.
        new_tokens: how many it becomes.
    """

    source: str
    group: str
    text: str
    old_tokens: int
    new_tokens: int

    @property
    def ratio(self) -> float:
        """New tokens over old ones."""
        return self.new_tokens / self.old_tokens

    def to_json(self) -> dict[str, Any]:
        """As a part of `--json`."""
        return {
            "source": self.source,
            "group": self.group,
            "text": self.text,
            "old_tokens": self.old_tokens,
            "new_tokens": self.new_tokens,
        }


def losing_texts(
    old: Tokenizer,
    new: Tokenizer,
    documents: Iterable[Document],
    *,
    most: int = 10,
    threads: int | None = None,
    progress: Progress = no_progress,
) -> tuple[LosingText, ...]:
    """The documents that grow most, by the ratio of their tokens; those with few tokens are left out.

    Args:
        old: the tokenizer until now.
        new: the one to come.
        documents: read once.
        most: how many to keep.
        threads: for encoding; None takes every processor.
        progress: called with how much of the work is done.

    Returns:
        Those that have more tokens than before, the one that loses most first.
    """
    found: list[LosingText] = []
    read, num_bytes = reading_of(documents), 0
    for batch in _batches(documents):
        texts = [document.text for document in batch]
        before, after = (one.encode_batch(texts, threads=threads).counts.tolist() for one in (old, new))
        found += [
            LosingText(document.source, document.group, document.text[:_CHARACTERS_KEPT], was, becomes)
            for document, was, becomes in zip(batch, before, after, strict=True)
            if becomes > was >= FEWEST_TOKENS
        ]
        found = heapq.nlargest(most, found, key=lambda each: (each.ratio, each.new_tokens - each.old_tokens))
        num_bytes += sum(len(text.encode()) for text in texts)
        progress("comparing texts", *read(num_bytes), "bytes")
    return tuple(found)


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    characters = 0
    for document in documents:
        batch.append(document)
        characters += len(document.text)
        if characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
