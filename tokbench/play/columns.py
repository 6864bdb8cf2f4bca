"""The tokens of the text in one column for each tokenizer, and which of them differ between the columns."""

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
"""Tokens of a block: after this many it ends at the next line end, and after this many in any case."""


class OpenTokenizer:
    """A tokenizer of the session.

    Attributes:
        request: what it was opened by, as -t takes it.
        opened: it, and what was found in its files.
    """

    def __init__(self, request: str, opened: Opened) -> None:
        self.request = request
        self.opened = opened

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer itself."""
        return self.opened.tokenizer

    @property
    def name(self) -> str:
        """What it is called above its column."""
        return self.tokenizer.info.name

    @cached_property
    def vocabulary(self) -> VocabularyTokens:
        """Its vocabulary; takes some time when it is first asked for."""
        return VocabularyTokens(TokenizerContents(self.opened))


@dataclass(frozen=True)
class Column:
    """The tokens of a text.

    Attributes:
        source: the tokenizer.
        part: the text, or the part of it that has been encoded; what follows counts from its beginning.
        data: that as UTF-8.
        ids: uint32[N].
        starts: int64[N], where each token begins in the text, in bytes.
        stops: int64[N], where it ends.
        kinds: uint8[N], the number of its kind.
        blocks: the first token of each block, and the number of tokens.
        differs: bool[N], whether some other column has no token that covers the same bytes.
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
        """How many tokens differ."""
        return int(self.differs.sum())

    def __len__(self) -> int:
        return len(self.ids)

    def token(self, index: int, *, origin: int = 0) -> Token:
        """A token, its span counted from a byte of the text."""
        id = int(self.ids[index])
        span = Span(int(self.starts[index]) - origin, int(self.stops[index]) - origin)
        return Token(id, self.source.tokenizer.token_bytes(id), span, _KINDS[self.kinds[index]])

    def character_at(self, offset: int) -> int:
        """The character of the whole text that begins at a byte of the data, or the next one."""
        return self.part.character + len(self.data[:offset].decode(errors="ignore"))

    def index_at(self, offset: int) -> int:
        """The token that covers a byte of the data, or the last one before it; 0 where there is none."""
        found = int(np.searchsorted(self.stops, offset, side="right"))
        return max(min(found, len(self) - 1), 0)


def encode_columns(
    tokenizers: Sequence[OpenTokenizer], text: str | TextPart, *, special: SpecialPolicy
) -> list[Column]:
    """A text in a column for each tokenizer; its ids are those of `Tokenizer.encode`.

    Args:
        tokenizers: which.
        text: the text; a part of one is encoded by itself, and at its ends may have other tokens than in the whole.
        special: what the text of a special token becomes.

    Raises:
        SpecialTokenError: the text holds a special token under `SpecialPolicy.RAISE`.
    """
    part = TextPart(text) if isinstance(text, str) else text
    return with_differences([_encoded(each, part, special=special) for each in tokenizers])


def with_differences(columns: Sequence[Column]) -> list[Column]:
    """Columns of one text with the tokens marked that some other column does not have in the same place."""
    places = [_places(column) for column in columns]
    return [
        replace(column, differs=~_in_all(places[number], places[:number] + places[number + 1 :]))
        for number, column in enumerate(columns)
    ]


def _in_all(places: NDArray[np.int64], others: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_]:
    found = np.ones(len(places), np.bool_)
    for other in map(
        np.sort, others
    ):  # which takes no time where spans ascend, as they do but for odd tokenizers
        nearest = np.minimum(np.searchsorted(other, places), len(other) - 1)
        found &= other[nearest] == places if len(other) else False
    return found


def _places(column: Column) -> NDArray[np.int64]:
    """A number for each span, the same for the same span."""
    return column.starts * (len(column.data) + 1) + column.stops


def _encoded(source: OpenTokenizer, part: TextPart, *, special: SpecialPolicy) -> Column:
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
    """The first token of each block, and the number of tokens.

    A block begins with a whole character that no token before it reaches into, at a line's beginning where there is
    one in time.

    Args:
        data: the text as UTF-8.
        starts: int64[N], where each token begins in it, in bytes.
        stops: int64[N], where it ends.
    """
    count = len(starts)
    if count <= LONGEST_BLOCK:
        return (0, count)
    text = np.frombuffer(data, np.uint8)
    may_begin = _where_blocks_may_begin(text, starts, stops)
    lines = may_begin[text[np.maximum(starts[may_begin], 1) - 1] == ord("\n")]
    edges = [0]
    while count - edges[-1] > LONGEST_BLOCK:
        edge = _next(lines, edges[-1] + SHORTEST_BLOCK)
        if edge is None or edge - edges[-1] > LONGEST_BLOCK:
            edge = _next(may_begin, edges[-1] + LONGEST_BLOCK)
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


def _next(sorted_places: NDArray[np.intp], least: int) -> int | None:
    found = int(np.searchsorted(sorted_places, least))
    return int(sorted_places[found]) if found < len(sorted_places) else None
