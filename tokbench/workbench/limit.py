"""Compare texts with a limit of N tokens, or cut them to their first or last tokens, reading no further than needed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokbench.core.result_json import tokenizer_fields
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.truncation import ending_of, truncated_text
from tokbench.workbench.count import num_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokbench.core.interfaces import Tokenizer, TokenizerInfo
    from tokbench.corpus.inputs import TextBlocks

_MARGIN = 1024
"""Reading stops this many tokens over the limit: the text that follows changes only the last few tokens before it."""

_PIECE = 1 << 20
"""Characters of a block that are encoded together."""


@dataclass(frozen=True, slots=True)
class LimitedText:
    """The length of a text under one tokenizer, compared with the limit.

    Attributes:
        source: the text or file.
        info: the tokenizer.
        tokens: number of tokens, or a lower bound.
        is_exact: whether the whole text was counted.
        num_bytes: UTF-8 bytes that were counted.
    """

    source: str
    info: TokenizerInfo
    tokens: int
    is_exact: bool
    num_bytes: int


@dataclass(frozen=True, slots=True)
class LimitResult:
    """The lengths of several texts, compared with the limit.

    Attributes:
        limit: the maximum number of tokens.
        texts: one entry per text and tokenizer.
    """

    limit: int
    texts: tuple[LimitedText, ...]

    @property
    def is_within(self) -> bool:
        """Whether no text exceeds the limit."""
        return all(text.tokens <= self.limit for text in self.texts)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        return {
            "schema": "tokbench.count_limit/1",
            "limit": self.limit,
            "within": self.is_within,
            "texts": [
                {
                    "source": text.source,
                    **tokenizer_fields(text.info),
                    "within": text.tokens <= self.limit,
                    "tokens": text.tokens,
                    "exact": text.is_exact,
                    "over": text.tokens - self.limit,
                    "bytes": text.num_bytes,
                }
                for text in self.texts
            ],
        }


def compare_with_limit(
    tokenizers: Sequence[Tokenizer],
    texts: Iterable[TextBlocks],
    *,
    limit: int,
    special: SpecialPolicy = SpecialPolicy.TEXT,
) -> LimitResult:
    """Count each text to its end, or until it certainly exceeds the limit.

    Args:
        tokenizers: each counts every text; the texts are read only once.
        texts: texts in blocks; the records of a file count together.
        limit: the maximum number of tokens.
        special: what the text of a special token becomes.

    Raises:
        SpecialTokenError, TextError, CorpusError: as `Tokenizer.encode`, and as for reading a file.
    """
    results: list[LimitedText] = []
    for text in texts:
        parts = _Replayed(text.blocks)
        for tokenizer in tokenizers:
            count = _count_joined if text.is_joined else _count_apart
            tokens, is_exact, num_bytes = count(tokenizer, parts, limit + _MARGIN, special)
            results.append(LimitedText(text.source, tokenizer.info, tokens, is_exact, num_bytes))
    return LimitResult(limit, tuple(results))


def beginnings(
    tokenizers: Sequence[Tokenizer],
    texts: Iterable[TextBlocks],
    *,
    max_tokens: int,
    special: SpecialPolicy = SpecialPolicy.TEXT,
) -> Iterator[tuple[str, Tokenizer, str]]:
    """Cut each text to its first tokens under each tokenizer, reading no further than needed.

    Args:
        tokenizers: any tokenizers.
        texts: texts in blocks; each record is a text of its own.
        max_tokens: number of tokens to keep.
        special: what the text of a special token becomes.

    Yields:
        The source of the text, the tokenizer, and the result of `tokbench.core.truncation.truncated_text`.
    """
    for source, blocks in _each_text(texts):
        parts = _Replayed(blocks)
        for tokenizer in tokenizers:
            beginning, _, _ = _beginning(tokenizer, parts, max_tokens + _MARGIN, special)
            yield source, tokenizer, truncated_text(tokenizer, beginning, max_tokens, special=special)


def endings(
    tokenizers: Sequence[Tokenizer],
    texts: Iterable[TextBlocks],
    *,
    max_tokens: int,
    special: SpecialPolicy = SpecialPolicy.TEXT,
) -> Iterator[tuple[str, Tokenizer, str]]:
    """Cut each text to its last tokens under each tokenizer; arguments and results are those of `beginnings`.

    Each text is read to its end; at most twice the text needed for enough tokens is held in memory.
    """
    for source, blocks in _each_text(texts):
        tails = [_Tail(tokenizer, max_tokens + _MARGIN, special) for tokenizer in tokenizers]
        for block in blocks:
            for tail in tails:
                tail.add(block)
        for tokenizer, tail in zip(tokenizers, tails, strict=True):
            kept = truncated_text(tokenizer, tail.text(), max_tokens, side="left", special=special)
            yield source, tokenizer, kept


class _Tail:
    """The end of a growing text: at least a given number of tokens, cut at a token boundary."""

    def __init__(self, tokenizer: Tokenizer, tokens: int, special: SpecialPolicy) -> None:
        self._tokenizer = tokenizer
        self._tokens = tokens
        self._special = special
        self._parts: list[str] = []
        self._size = 0
        self._most = 0

    def add(self, block: str) -> None:
        """Append a block; the held text is cut whenever it has doubled, so the total time is linear."""
        for piece in _slices(block, _PIECE):
            self._parts.append(piece)
            self._size += len(piece)
            if self._size >= max(self._most, 2 * self._tokens):
                text = ending_of(self._tokenizer, self.text(), self._tokens, special=self._special)
                self._parts, self._size, self._most = [text], len(text), 2 * len(text)

    def text(self) -> str:
        """Return the held text."""
        return "".join(self._parts)


def _each_text(texts: Iterable[TextBlocks]) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the source and the blocks of each text; each record is a text of its own."""
    for text in texts:
        for blocks in [text.blocks] if text.is_joined else ([block] for block in text.blocks):
            yield text.source, iter(blocks)


class _Replayed:
    """Blocks that can be iterated again; blocks that were read already come from memory."""

    def __init__(self, blocks: Iterator[str]) -> None:
        self._blocks = blocks
        self._read: list[str] = []

    def __iter__(self) -> Iterator[str]:
        yield from self._read
        for block in self._blocks:
            self._read.append(block)
            yield block


def _beginning(
    tokenizer: Tokenizer, blocks: Iterable[str], enough: int, special: SpecialPolicy
) -> tuple[str, int, bool]:
    """Return a beginning of a text with enough tokens, or all of it; its number of tokens; and whether it is all.

    The tried length doubles each time, so the total time is linear.
    """
    parts: list[str] = []
    size, wanted = 0, enough
    for piece in chain.from_iterable(_slices(block, enough) for block in blocks):
        parts.append(piece)
        size += len(piece)
        if size < wanted:
            continue
        text = "".join(parts)
        tokens = num_tokens(tokenizer, text, special=special)
        if tokens >= enough:
            return text, tokens, False
        parts, wanted = [text], 2 * size
    text = "".join(parts)
    return text, num_tokens(tokenizer, text, special=special), True


def _count_joined(
    tokenizer: Tokenizer, blocks: Iterable[str], enough: int, special: SpecialPolicy
) -> tuple[int, bool, int]:
    """Return the tokens of one text, whether it was counted to its end, and its bytes."""
    text, tokens, is_whole = _beginning(tokenizer, blocks, enough, special)
    return tokens, is_whole, len(text.encode())


def _count_apart(
    tokenizer: Tokenizer, texts: Iterable[str], enough: int, special: SpecialPolicy
) -> tuple[int, bool, int]:
    """Return the same for texts that are counted separately."""
    tokens = num_bytes = 0
    for text in texts:
        tokens += num_tokens(tokenizer, text, special=special)
        num_bytes += len(text.encode())
        if tokens >= enough:
            return tokens, False, num_bytes
    return tokens, True, num_bytes


def _slices(block: str, size: int) -> Iterator[str]:
    """Yield the parts of a block, so that no more of a long one is counted than needed."""
    return (block[start : start + size] for start in range(0, len(block), size))
