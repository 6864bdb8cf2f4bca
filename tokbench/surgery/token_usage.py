"""Token frequencies and word counts of a text, for pruning by frequency or by loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokbench.lint.corpus_counts import count_corpus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokbench.core.interfaces import Tokenizer


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """The counts of a text; empty if pruning does not depend on a text.

    Attributes:
        frequencies: id → number of token occurrences.
        words: word → count, for algorithms that need word counts.
    """

    frequencies: Mapping[int, int] = field(default_factory=dict)
    words: Mapping[str, int] = field(default_factory=dict)


def count_usage(tokenizer: Tokenizer, texts: Iterable[str], *, threads: int | None) -> TokenUsage:
    """Encode texts and count ids, with special tokens as ordinary text. Raises `TextError`, `CorpusError`."""
    counts = count_corpus(tokenizer, texts, threads=threads)
    return TokenUsage(dict(enumerate(counts.frequencies.tolist())))
