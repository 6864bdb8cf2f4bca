"""Whether texts have at most N tokens, and the text of their first or last ones, reading no further than needed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokbench.core.result_json import tokenizer_fields
from tokbench.core.text_ends import ending_of, truncated_text
from tokbench.core.tokens import SpecialPolicy
from tokbench.workbench.count import num_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokbench.core.interfaces import Tokenizer, TokenizerInfo
    from tokbench.corpus.inputs import TextBlocks

_MARGIN = 1024
"""Tokens over the limit at which reading ends: what follows changes few tokens before it, and only the last ones."""

_PIECE = 1 << 20
"""Characters of a block that are looked at together."""


@dataclass(frozen=True, slots=True)
class LimitedText:
    """How one text compares with the limit under one tokenizer.

    Attributes:
        source: the text or file.
        info: the tokenizer.
        tokens: how many it has, or this many at least.
        is_exact: whether all of it was counted.
        num_bytes: the UTF-8 bytes that were counted.
    """

    source: str
    info: TokenizerInfo
    tokens: int
    is_exact: bool
    num_bytes: int


@dataclass(frozen=True, slots=True)
class LimitResult:
    """How several texts compare with the limit.

    Attributes:
        limit: the most tokens.
        texts: each text under each tokenizer.
    """

    limit: int
    texts: tuple[LimitedText, ...]

    @property
    def is_within(self) -> bool:
        """Whether no text has more tokens."""
        return all(text.tokens <= self.limit for text in self.texts)

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
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


def hold_to_limit(
    tokenizers: Sequence[Tokenizer],
    texts: Iterable[TextBlocks],
    *,
    limit: int,
    special: SpecialPolicy = SpecialPolicy.TEXT,
) -> LimitResult:
    """Count each text to its end, or until it certainly has more tokens than the limit.

    Args:
        tokenizers: each counts every text, which is read once.
        texts: read block by block; of a file of records, the tokens of all count together.
        limit: the most tokens.
        special: what the text of a special token becomes.

    Raises:
        SpecialTokenError, TextError, CorpusError: as `Tokenizer.encode`, and as reading a file.
    """
    found: list[LimitedText] = []
    for text in texts:
        parts = _Replayed(text.blocks)
        for tokenizer in tokenizers:
            count = _count_joined if text.is_joined else _count_apart
            tokens, is_exact, num_bytes = count(tokenizer, parts, limit + _MARGIN, special)
            found.append(LimitedText(text.source, tokenizer.info, tokens, is_exact, num_bytes))
    return LimitResult(limit, tuple(found))


def beginnings(
    tokenizers: Sequence[Tokenizer],
    texts: Iterable[TextBlocks],
    *,
    max_tokens: int,
    special: SpecialPolicy = SpecialPolicy.TEXT,
) -> Iterator[tuple[str, Tokenizer, str]]:
    """The text of the first tokens of each text, by each tokenizer, read no further than needed.

    Args:
        tokenizers: any.
        texts: read block by block; a record is a text.
        max_tokens: how many tokens are kept.
        special: what the text of a special token becomes.

    Yields:
        Where the text is from, the tokenizer, and what `tokbench.core.text_ends.truncated_text` keeps.
    """
    for text in texts:
        for blocks in [text.blocks] if text.is_joined else map(_alone, text.blocks):
            parts = _Replayed(blocks)
            for tokenizer in tokenizers:
                begun, _, _ = _beginning(tokenizer, parts, max_tokens + _MARGIN, special)
                yield text.source, tokenizer, truncated_text(tokenizer, begun, max_tokens, special=special)


def endings(
    tokenizers: Sequence[Tokenizer],
    texts: Iterable[TextBlocks],
    *,
    max_tokens: int,
    special: SpecialPolicy = SpecialPolicy.TEXT,
) -> Iterator[tuple[str, Tokenizer, str]]:
    """The text of the last tokens of each text, by each tokenizer; arguments and results are those of `beginnings`.

    Each text is read to its end, and no more of it is held than twice what has enough tokens.
    """
    for text in texts:
        for blocks in [text.blocks] if text.is_joined else map(_alone, text.blocks):
            tails = [_Tail(tokenizer, max_tokens + _MARGIN, special) for tokenizer in tokenizers]
            for block in blocks:
                for tail in tails:
                    tail.add(block)
            for tokenizer, tail in zip(tokenizers, tails, strict=True):
                kept = truncated_text(tokenizer, tail.text(), max_tokens, side="left", special=special)
                yield text.source, tokenizer, kept


class _Tail:
    """The end of a text that grows: at least this many tokens of it, cut where a token begins."""

    def __init__(self, tokenizer: Tokenizer, tokens: int, special: SpecialPolicy) -> None:
        self._tokenizer = tokenizer
        self._tokens = tokens
        self._special = special
        self._parts: list[str] = []
        self._size = 0
        self._most = 0

    def add(self, block: str) -> None:
        """Go on with a block; what is held is shortened each time that it has doubled, so that time is linear."""
        for piece in _slices(block, _PIECE):
            self._parts.append(piece)
            self._size += len(piece)
            if self._size >= max(self._most, 2 * self._tokens):
                text = ending_of(self._tokenizer, self.text(), self._tokens, special=self._special)
                self._parts, self._size, self._most = [text], len(text), 2 * len(text)

    def text(self) -> str:
        """What is held."""
        return "".join(self._parts)


def _alone(text: str) -> Iterator[str]:
    return iter([text])


class _Replayed:
    """Blocks that can be gone through again, those that were read already first."""

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
    """A beginning of a text that has enough tokens, or all of it; its tokens; and whether it is all.

    What is tried is twice as long each time, so that time is linear.
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
    """Tokens of one text, whether it was counted to its end, and its bytes."""
    text, tokens, is_whole = _beginning(tokenizer, blocks, enough, special)
    return tokens, is_whole, len(text.encode())


def _count_apart(
    tokenizer: Tokenizer, texts: Iterable[str], enough: int, special: SpecialPolicy
) -> tuple[int, bool, int]:
    """The same of texts that are counted one by one."""
    tokens = num_bytes = 0
    for text in texts:
        tokens += num_tokens(tokenizer, text, special=special)
        num_bytes += len(text.encode())
        if tokens >= enough:
            return tokens, False, num_bytes
    return tokens, True, num_bytes


def _slices(block: str, size: int) -> Iterator[str]:
    """A block in parts, so that of a long one no more is counted than needed."""
    return (block[start : start + size] for start in range(0, len(block), size))
