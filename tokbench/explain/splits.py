"""Search for the most frequent words of a corpus that are split at a given place, or by a given cause."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress, reading_of
from tokbench.errors import ConfigError
from tokbench.explain.assembling import explain
from tokbench.explain.causes import EarlierMerge
from tokbench.explain.sentences import CAUSE_NAMES, cause_in_words, cause_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.explain.causes import Symbol
    from tokbench.explain.derivation import Boundary, Explanation

INSIDE_CHARACTER = "inside-character"
_WORDS = r" ?[\p{L}\p{M}\p{N}]+"
_RANK = re.compile(r"earlier-merge:(\d{1,9})")
_BATCH = 4096


@dataclass(frozen=True, slots=True)
class SplitQuery:
    """A query for token boundaries.

    Attributes:
        left: suffix of the text before the boundary.
        right: prefix of the text after the boundary.
        cause: name of the cause; None for any.
        rank: for an earlier merge, the rank of the merge that took a part; None for any.
    """

    left: bytes = b""
    right: bytes = b""
    cause: str | None = None
    rank: int | None = None

    @classmethod
    def parsed(cls, text: str) -> SplitQuery:
        """Parse a query of `--find-split`: `un|happy`, `|ing`, or a cause. Raises `ConfigError`.

        >>> SplitQuery.parsed("|ing").right, SplitQuery.parsed("earlier-merge:7").rank
        (b'ing', 7)
        """
        if (match := _RANK.fullmatch(text)) is not None:
            return cls(cause="earlier-merge", rank=int(match[1]))
        if text in (*CAUSE_NAMES, INSIDE_CHARACTER):
            return cls(cause=text)
        if text.count("|") != 1:
            raise ConfigError(
                f"--find-split {text!r} is neither a place nor a cause",
                hint="write a place as 'un|happy', '|ing' or '|', or name a cause: earlier-merge:RANK, "
                + ", ".join((*CAUSE_NAMES, INSIDE_CHARACTER)),
            )
        left, _, right = text.partition("|")
        return cls(left.encode(), right.encode())

    def takes(self, explanation: Explanation, boundary: Boundary) -> bool:
        """Whether a boundary matches the query."""
        data = explanation.text.encode()
        before, after = data[: boundary.offset], data[boundary.offset :]
        if not (before.endswith(self.left) and after.startswith(self.right)):
            return False
        if self.cause == INSIDE_CHARACTER:
            return bool(after) and after[0] & 0xC0 == 0x80
        if self.cause is not None and cause_name(boundary.cause) != self.cause:
            return False
        if self.rank is None:
            return True
        return isinstance(boundary.cause, EarlierMerge) and self.rank in (
            rule.rank for rule in boundary.cause.by
        )


@dataclass(frozen=True, slots=True)
class SplitWord:
    """A word with a matching boundary.

    Attributes:
        word: the word, with a preceding space if the tokenizer distinguishes it.
        count: occurrences in the corpus.
        tokens: its tokens.
        causes: the cause of each matching boundary.
    """

    word: str
    count: int
    tokens: tuple[Symbol, ...]
    causes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundSplits:
    """The result of a search.

    Attributes:
        words: the matching words, the most frequent first.
        occurrences: number of words in the corpus.
        distinct: number of distinct words.
        cut: occurrences of words with several tokens, regardless of the query.
        is_complete: whether every word with several tokens was examined.
    """

    words: tuple[SplitWord, ...]
    occurrences: int
    distinct: int
    cut: int
    is_complete: bool


def find_splits(
    tokenizer: Tokenizer,
    documents: Iterable[str],
    query: SplitQuery,
    *,
    top: int,
    progress: Progress = no_progress,
) -> FoundSplits:
    """Find the most frequent words with a matching boundary; each word is encoded by itself.

    Args:
        tokenizer: a tokenizer that supports explanations.
        documents: the texts of the corpus.
        query: the query.
        top: maximum number of words.
        progress: called with the number of bytes read.

    Raises:
        ConfigError: the tokenizer does not support explanations.
        CorpusError: a document cannot be read.
        TextError: a document contains a lone surrogate.
    """
    counts = _count_words(documents, keeps_space=_sees_space(tokenizer), progress=progress)
    ordered = [word for word, _ in counts.most_common()]
    found: list[SplitWord] = []
    several: list[str] = []
    for start in range(0, len(ordered), _BATCH):
        batch = ordered[start : start + _BATCH]
        lengths = tokenizer.encode_batch(batch).counts.tolist()
        several += [word for word, length in zip(batch, lengths, strict=True) if length > 1]
    unseen = iter(several)
    for word in unseen:
        explanation = explain(tokenizer, word)
        causes = [
            cause_in_words(boundary.cause)
            for boundary in explanation.boundaries
            if query.takes(explanation, boundary)
        ]
        if causes:
            tokens = tuple(symbol for step in explanation.steps for symbol in step.trace.tokens)
            found.append(SplitWord(word, counts[word], tokens, tuple(causes)))
        if len(found) == top:
            break
    return FoundSplits(
        words=tuple(found),
        occurrences=counts.total(),
        distinct=len(counts),
        cut=sum(counts[word] for word in several),
        is_complete=next(unseen, None) is None,
    )


def _sees_space(tokenizer: Tokenizer) -> bool:
    """Whether words should keep a preceding space: it makes a difference, and the tokenizer does not add one itself."""
    return tokenizer.encode(" a") != tokenizer.encode("a") and explain(tokenizer, "a").normalized == "a"


def _count_words(documents: Iterable[str], *, keeps_space: bool, progress: Progress) -> Counter[str]:
    counts: Counter[str] = Counter()
    read, done = reading_of(documents), 0
    for text in documents:
        counts.update(_words(text, keeps_space=keeps_space))
        done += len(text.encode())
        progress("counting", *read(done), "bytes")
    return counts


def _words(text: str, *, keeps_space: bool) -> Iterator[str]:
    import regex

    found: Any = regex.finditer(_WORDS, text)
    for match in found:
        word: str = match.group()
        yield word if keeps_space else word.lstrip(" ")
