"""Find the most frequent words of a corpus that are cut at a place, or by a cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress
from tokbench.core.result_json import tokenizer_fields
from tokbench.explain.splits import FoundSplits, SplitQuery, find_splits
from tokbench.workbench.explain import SCHEMA
from tokbench.workbench.explain_json import symbol_fields

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.core.interfaces import Tokenizer, TokenizerInfo
    from tokbench.core.progress import Progress


@dataclass(frozen=True, slots=True)
class SplitsResult:
    """The words that are cut as was asked.

    Attributes:
        info: the tokenizer.
        asked: what was looked for, as it was written.
        found: what was found.
    """

    info: TokenizerInfo
    asked: str
    found: FoundSplits

    def to_json(self) -> dict[str, Any]:
        """The JSON document that `tokbench explain --find-split --json` prints."""
        found = self.found
        return {
            "schema": SCHEMA,
            "tokenizer": tokenizer_fields(self.info),
            "find_split": self.asked,
            "occurrences": found.occurrences,
            "distinct": found.distinct,
            "cut": found.cut,
            "complete": found.is_complete,
            "words": [
                {
                    "word": word.word,
                    "count": word.count,
                    "tokens": [symbol_fields(symbol) for symbol in word.tokens],
                    "why": list(word.causes),
                }
                for word in found.words
            ],
        }


def find_split_words(
    tokenizer: Tokenizer,
    documents: Iterable[str],
    asked: str,
    *,
    top: int = 20,
    progress: Progress = no_progress,
) -> SplitsResult:
    """The most frequent words that are cut at a position (`un|happy`), or for a cause (`earlier-merge:61`).

    Raises:
        ConfigError: it is neither, or the tokenizer cannot tell how it makes tokens.
        CorpusError, TextError: the documents cannot be read.
    """
    query = SplitQuery.parsed(asked)
    found = find_splits(tokenizer, documents, query, top=top, progress=progress)
    return SplitsResult(tokenizer.info, asked, found)
