"""The most frequent words of a corpus that are cut at a place, or by a cause."""

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
    from tokbench.explain.derivation import Boundary, Explanation
    from tokbench.explain.symbols import Symbol

INSIDE_CHARACTER = "inside-character"
_WORDS = r" ?[\p{L}\p{M}\p{N}]+"
_RANK = re.compile(r"earlier-merge:(\d{1,9})")
_BATCH = 4096


@dataclass(frozen=True, slots=True)
class SplitQuery:
    """Which cuts are looked for.

    Attributes:
        left: what the text before the cut ends with.
        right: what the text after it begins with.
        cause: the cause's name; None for any.
        rank: the rank of the merge that took a part, for an earlier merge; None for any.
    """

    left: bytes = b""
    right: bytes = b""
    cause: str | None = None
    rank: int | None = None

    @classmethod
    def parsed(cls, text: str) -> SplitQuery:
        """A query as `--find-split` takes it: `un|happy`, `|ing`, or a cause. Raises `ConfigError`.

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
        """Whether a boundary is one that is looked for."""
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
    """A word that is cut as was asked.

    Attributes:
        word: the word, with the space before it where the tokenizer sees one.
        count: how often the corpus has it.
        tokens: what it becomes.
        causes: why it is cut at each of the places that were asked for.
    """

    word: str
    count: int
    tokens: tuple[Symbol, ...]
    causes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundSplits:
    """What was found.

    Attributes:
        words: the most frequent first.
        occurrences: words of the corpus.
        distinct: different ones among them.
        cut: occurrences of words of several tokens, whatever their cuts.
        is_complete: whether every distinct word was looked at.
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
    """The most frequent words that are cut as asked; each is encoded by itself, most frequent ones first.

    Args:
        tokenizer: any that can explain itself.
        documents: the corpus.
        query: which cuts.
        top: the most words.
        progress: called with the bytes read.

    Raises:
        ConfigError: the tokenizer cannot tell how it makes tokens.
        CorpusError: a document cannot be read.
        TextError: a document holds a lone surrogate.
    """
    counts = _counted(documents, keeps_space=_sees_space(tokenizer), progress=progress)
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
    """Whether a space before a word is to be given: not where it makes no difference, or one is put there anyway."""
    return tokenizer.encode(" a") != tokenizer.encode("a") and explain(tokenizer, "a").normalized == "a"


def _counted(documents: Iterable[str], *, keeps_space: bool, progress: Progress) -> Counter[str]:
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
