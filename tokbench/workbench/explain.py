"""Explain why a text is split where it is split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.capabilities import KnowsMerges
from tokbench.core.progress import no_progress
from tokbench.core.result_json import token_fields, tokenizer_fields
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError
from tokbench.explain.assembling import explain, explain_as_read
from tokbench.explain.splits import FoundSplits, SplitQuery, find_splits
from tokbench.explain.words import WordAnswer, why_word
from tokbench.workbench.explain_json import explanation_fields, symbol_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokbench.core.interfaces import Tokenizer, TokenizerInfo
    from tokbench.core.progress import Progress
    from tokbench.explain.derivation import Boundary, ExplainedStep, Explanation
    from tokbench.explain.records import MergeRecord

SCHEMA = "tokbench.explain/2"


@dataclass(frozen=True, slots=True)
class ExplainResult:
    """The explanation of a text.

    Attributes:
        info: the tokenizer.
        explanation: why the text has these tokens.
        token: the position of the requested token; None for all tokens.
    """

    info: TokenizerInfo
    explanation: Explanation
    token: int | None = None

    @property
    def steps(self) -> Sequence[ExplainedStep]:
        """The requested pre-tokens with their traces."""
        if self.token is None:
            return self.explanation.steps
        return (self.explanation.step_of(self.token),)

    def boundary(self, token: int) -> Boundary:
        """Return the boundary before a token, which must not be the first."""
        return self.explanation.boundaries[token - 1]

    def to_json(self) -> dict[str, Any]:
        """The JSON document that `tokbench explain --json` prints."""
        parts = self.json_parts()
        return {name: list(part) if isinstance(part, Iterator) else part for name, part in parts.items()}

    def json_parts(self) -> dict[str, Any]:
        """Return the same document with its long lists as iterators, which must be consumed in order."""
        boundaries = (
            boundary
            for boundary in self.explanation.boundaries
            if self.token is None or self.token in (boundary.token, boundary.token - 1)
        )
        return {
            "schema": SCHEMA,
            "tokenizer": tokenizer_fields(self.info),
            **explanation_fields(self.explanation, steps=self.steps, boundaries=boundaries),
        }


@dataclass(frozen=True, slots=True)
class WordResult:
    """Reasons why words are one token or several."""

    info: TokenizerInfo
    answers: tuple[WordAnswer, ...]

    def to_json(self) -> dict[str, Any]:
        """The JSON document that `tokbench explain --word --json` prints."""
        return {
            "schema": SCHEMA,
            "tokenizer": tokenizer_fields(self.info),
            "words": [
                {
                    "word": answer.word,
                    "tokens": [symbol_fields(symbol) for symbol in answer.tokens],
                    "sentence": answer.sentence,
                    "change": answer.change,
                    "merges": [[token_fields(left), token_fields(right)] for left, right in answer.merges],
                    "piece": answer.piece,
                    "score": answer.score,
                }
                for answer in self.answers
            ],
        }


def explain_text(
    tokenizer: Tokenizer,
    text: str,
    *,
    special: SpecialPolicy = SpecialPolicy.TEXT,
    token: int | None = None,
    as_read: bool = False,
) -> ExplainResult:
    """Explain why a text is split where it is split.

    Args:
        tokenizer: a tokenizer that can explain itself.
        text: the text.
        special: what the text of a special token becomes.
        token: the position of the requested token, from 0; None for all tokens.
        as_read: whether to derive and check each part only when it is read; reading then raises the `ConfigError` for
            a part whose tokens cannot be explained.

    Raises:
        ConfigError: the tokenizer cannot explain itself, or there is no such token.
        SpecialTokenError: the text holds a special token under `SpecialPolicy.RAISE`.
        TextError: the text holds a lone surrogate.
    """
    explain_it = explain_as_read if as_read else explain
    explanation = explain_it(tokenizer, text, special=special)
    count = len(explanation.tokens)
    if token is not None and not 0 <= token < count:
        raise ConfigError(
            f"there is no token {token}: the text has {count:,}",
            hint=f"--token takes a position from 0 to {count - 1}" if count else "the text is empty",
        )
    return ExplainResult(tokenizer.info, explanation, token)


def explain_words(tokenizer: Tokenizer, words: Sequence[str]) -> WordResult:
    """Explain why words are one token or several. Raises as `explain_text`."""
    return WordResult(tokenizer.info, tuple(why_word(explain(tokenizer, word)) for word in words))


@dataclass(frozen=True, slots=True)
class MergesResult:
    """Records of merges."""

    info: TokenizerInfo
    records: tuple[MergeRecord, ...]

    def to_json(self) -> dict[str, Any]:
        """The JSON document that `tokbench explain --merge --json` prints."""
        return {
            "schema": SCHEMA,
            "tokenizer": tokenizer_fields(self.info),
            "merges": [_record_fields(record) for record in self.records],
        }


def explain_merges(tokenizer: Tokenizer, ranks: Sequence[int]) -> MergesResult:
    """Return what merges join, which merges use them, and, if the training was traced, which pairs they displaced.

    Args:
        tokenizer: a tokenizer with a list of merges.
        ranks: ranks of the merges, from 0.

    Raises:
        ConfigError: the tokenizer has no list of merges, or there is no such rank.
    """
    count = tokenizer.num_merges if isinstance(tokenizer, KnowsMerges) else 0
    if not isinstance(tokenizer, KnowsMerges) or not count:
        raise ConfigError(
            f"{tokenizer.info.name!r} has no list of merges",
            hint="--merge is for BPE with merges; `tokbench explain TEXT` shows the steps of every algorithm",
        )
    for rank in ranks:
        if not 0 <= rank < count:
            raise ConfigError(
                f"there is no merge {rank}: there are {count:,}", hint=f"ranks are from 0 to {count - 1:,}"
            )
    return MergesResult(tokenizer.info, tuple(map(tokenizer.merge_record, ranks)))


# --- JSON -------------------------------------------------------------------------------------


def _record_fields(record: MergeRecord) -> dict[str, Any]:
    return {
        "rank": record.rank,
        "left": {**symbol_fields(record.left), "rank": record.left_rank},
        "right": {**symbol_fields(record.right), "rank": record.right_rank},
        "merged": symbol_fields(record.merged),
        "count": record.count,
        "displaced": None
        if record.displaced is None
        else [
            {
                "left": symbol_fields(pair.left),
                "right": symbol_fields(pair.right),
                "lost": pair.lost,
                "rank": pair.rank,
            }
            for pair in record.displaced
        ],
        "used_by": [{"rank": use.rank, "merged": symbol_fields(use.merged)} for use in record.used_by],
        "uses": record.num_uses,
    }


@dataclass(frozen=True, slots=True)
class SplitsResult:
    """Words that match a query for splits.

    Attributes:
        info: the tokenizer.
        asked: the query as it was written.
        found: the matches.
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
    """Find the most frequent words that are cut at a position (`un|happy`), or for a cause (`earlier-merge:61`).

    Raises:
        ConfigError: the query is neither, or the tokenizer cannot explain itself.
        CorpusError, TextError: the documents cannot be read.
    """
    query = SplitQuery.parsed(asked)
    found = find_splits(tokenizer, documents, query, top=top, progress=progress)
    return SplitsResult(tokenizer.info, asked, found)
