"""The tokens of the text in a column per tokenizer, and the tokens that differ between columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.token_arrays import KIND_NUMBERS, encode_spans
from tokbench.core.tokens import Span, SpecialPolicy, Token, TokenKind
from tokbench.inspection.contents import TokenizerContents
from tokbench.inspection.vocabulary_tokens import VocabularyTokens
from tokbench.play.text_rows import TextPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer
    from tokbench.opening.request import Opened

_KINDS = tuple(TokenKind)

SHORTEST_BLOCK, LONGEST_BLOCK = 256, 512
"""Tokens per block: from the first number on, a block ends at the next line end; at the second, it always ends."""


class OpenTokenizer:
    """A tokenizer of the session.

    Attributes:
        request: what it was opened with, as -t takes it.
        opened: the opened tokenizer, with its files.
    """

    def __init__(self, request: str, opened: Opened) -> None:
        self.request = request
        self.opened = opened

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer."""
        return self.opened.tokenizer

    @property
    def name(self) -> str:
        """The name above its column."""
        return self.tokenizer.info.name

    @cached_property
    def vocabulary(self) -> VocabularyTokens:
        """Its vocabulary; computed at first use, which takes some time."""
        return VocabularyTokens(TokenizerContents(self.opened))


@dataclass(frozen=True)
class Column:
    """The tokens of a text under one tokenizer.

    Attributes:
        source: the tokenizer.
        part: the encoded text or part of it; all offsets below are relative to its beginning.
        data: the text of the part in UTF-8.
        ids: uint32[N].
        starts: int64[N], start of each token in bytes.
        stops: int64[N], end of each token in bytes.
        kinds: uint8[N], number of each token's kind.
        blocks: index of the first token of each block, followed by the number of tokens.
        differs: bool[N], whether some other column has no token with the same span.
    """

    source: OpenTokenizer
    part: TextPart
    data: bytes
    ids: NDArray[np.uint32]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    blocks: tuple[int, ...]
    differs: NDArray[np.bool_]

    @cached_property
    def num_differ(self) -> int:
        """Number of tokens that differ from another column."""
        return int(self.differs.sum())

    def __len__(self) -> int:
        return len(self.ids)

    def token(self, index: int, *, origin: int = 0) -> Token:
        """Return a token, with its span relative to a byte of the text."""
        id = int(self.ids[index])
        span = Span(int(self.starts[index]) - origin, int(self.stops[index]) - origin)
        return Token(id, self.source.tokenizer.token_bytes(id), span, _KINDS[self.kinds[index]])

    def character_at(self, offset: int) -> int:
        """Return the index in the whole text of the character that begins at a byte of the data, or of the next one."""
        return self.part.character + len(self.data[:offset].decode(errors="ignore"))

    def index_at(self, offset: int) -> int:
        """Return the index of the first token that ends after a byte of the data, else of the last; 0 if none."""
        index = int(np.searchsorted(self.stops, offset, side="right"))
        return max(min(index, len(self) - 1), 0)


def encode_columns(
    tokenizers: Sequence[OpenTokenizer], text: str | TextPart, *, special: SpecialPolicy
) -> list[Column]:
    """Encode a text with each tokenizer; the ids are those of `Tokenizer.encode`.

    Args:
        tokenizers: the tokenizers.
        text: the text, or a part, which is encoded by itself and may have other tokens at its ends than the whole text.
        special: what the text of a special token becomes.

    Raises:
        SpecialTokenError: the text contains a special token under `SpecialPolicy.RAISE`.
    """
    part = TextPart(text) if isinstance(text, str) else text
    return with_differences([_encode_column(tokenizer, part, special=special) for tokenizer in tokenizers])


def with_differences(columns: Sequence[Column]) -> list[Column]:
    """Mark the tokens of columns of the same text that some other column does not have with the same span."""
    places = [_span_numbers(column) for column in columns]
    return [
        replace(column, differs=~_are_in_all(places[number], places[:number] + places[number + 1 :]))
        for number, column in enumerate(columns)
    ]


def _are_in_all(places: NDArray[np.int64], others: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_]:
    is_in_all = np.ones(len(places), np.bool_)
    # Sorting is fast, as the spans of nearly all tokenizers are sorted already.
    for other in map(np.sort, others):
        nearest = np.minimum(np.searchsorted(other, places), len(other) - 1)
        is_in_all &= other[nearest] == places if len(other) else False
    return is_in_all


def _span_numbers(column: Column) -> NDArray[np.int64]:
    """Encode each span as a number; equal spans have equal numbers."""
    return column.starts * (len(column.data) + 1) + column.stops


def _encode_column(source: OpenTokenizer, part: TextPart, *, special: SpecialPolicy) -> Column:
    text = part.text
    data = text.encode()
    if special is SpecialPolicy.TEXT:
        spans = encode_spans(source.tokenizer, [text])
        ids, starts, stops, kinds = spans.encoded.ids, spans.starts, spans.stops, spans.kinds
    else:
        tokens = source.tokenizer.segment(text, special=special).tokens
        ids = np.array([token.id for token in tokens], np.uint32)
        starts = np.array([token.span.start for token in tokens], np.int64)
        stops = np.array([token.span.stop for token in tokens], np.int64)
        kinds = np.array([KIND_NUMBERS[token.kind] for token in tokens], np.uint8)
    blocks = block_edges(data, starts, stops)
    return Column(source, part, data, ids, starts, stops, kinds, blocks, np.zeros(len(ids), np.bool_))


def block_edges(data: bytes, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> tuple[int, ...]:
    """Return the index of the first token of each block, followed by the number of tokens.

    A block begins with a whole character that no earlier token overlaps, at the beginning of a line if there is one
    within reach.

    Args:
        data: the text as UTF-8.
        starts: int64[N], start of each token in bytes.
        stops: int64[N], end of each token in bytes.
    """
    count = len(starts)
    if count <= LONGEST_BLOCK:
        return (0, count)
    text = np.frombuffer(data, np.uint8)
    may_begin = _where_blocks_may_begin(text, starts, stops)
    lines = may_begin[text[np.maximum(starts[may_begin], 1) - 1] == ord("\n")]
    edges = [0]
    while count - edges[-1] > LONGEST_BLOCK:
        edge = _first_at_least(lines, edges[-1] + SHORTEST_BLOCK)
        if edge is None or edge - edges[-1] > LONGEST_BLOCK:
            edge = _first_at_least(may_begin, edges[-1] + LONGEST_BLOCK)
        if edge is None:
            break
        edges.append(edge)
    return (*edges, count)


def _where_blocks_may_begin(
    text: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> NDArray[np.intp]:
    begins_character = (text[np.minimum(starts, len(text) - 1)] & 0xC0) != 0x80
    reached = np.maximum.accumulate(np.concatenate([[0], stops[:-1]]))
    return np.flatnonzero(begins_character & (starts >= reached) & (starts < len(text)))


def _first_at_least(sorted_places: NDArray[np.intp], least: int) -> int | None:
    index = int(np.searchsorted(sorted_places, least))
    return int(sorted_places[index]) if index < len(sorted_places) else None
