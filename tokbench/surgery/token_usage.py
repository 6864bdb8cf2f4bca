"""How often a text uses each token, for pruning by frequency or by loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokbench.lint.corpus_counts import count_corpus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokbench.core.interfaces import Tokenizer


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """What was counted; nothing where no text decides.

    Attributes:
        frequencies: id → token occurrences.
        words: text → count, of algorithms that go by words.
    """

    frequencies: Mapping[int, int] = field(default_factory=dict)
    words: Mapping[str, int] = field(default_factory=dict)


def count_usage(tokenizer: Tokenizer, texts: Iterable[str], *, threads: int | None) -> TokenUsage:
    """Encode texts, special tokens as ordinary text, and count. Raises `TextError`, `CorpusError`."""
    counts = count_corpus(tokenizer, texts, threads=threads)
    return TokenUsage(dict(enumerate(counts.frequencies.tolist())))
