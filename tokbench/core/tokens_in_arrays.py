"""The tokens of a long text as arrays, from which a `Token` is made when it is read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, overload

from tokbench.core.capabilities import SupportsSpans
from tokbench.core.tokens import Segmentation, Span, SpecialPolicy, Token, TokenKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.tokens import EncodedSpans

_KINDS = tuple(TokenKind)
_BLOCK = 1 << 12
_LONG = 1 << 16
"""Characters from which the tokens of a text are kept in arrays; shorter texts do not load NumPy."""


class TokensInArrays(Sequence[Token]):
    """The tokens of a text as a sequence that is equal to their tuple, and takes a tenth of its memory.

    Args:
        spans: the tokens of one text.
        piece: returns the bytes of an id.
    """

    def __init__(self, spans: EncodedSpans, piece: Callable[[int], bytes]) -> None:
        self._spans = spans
        self._piece = cache(piece)

    def __len__(self) -> int:
        return len(self._spans.encoded.ids)

    @overload
    def __getitem__(self, index: int) -> Token: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Token, ...]: ...

    def __getitem__(self, index: int | slice) -> Token | tuple[Token, ...]:
        if isinstance(index, slice):
            return tuple(self._made(index))
        index = range(len(self))[index]
        return next(self._made(slice(index, index + 1)))

    def __iter__(self) -> Iterator[Token]:
        for first in range(0, len(self), _BLOCK):
            yield from self._made(slice(first, first + _BLOCK))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokensInArrays | tuple):
            return NotImplemented
        return len(self) == len(other) and all(map(Token.__eq__, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type[tuple[Token, ...]], tuple[tuple[Token, ...]]]:
        return tuple, (tuple(self),)

    def spans(self) -> Iterator[tuple[int, int]]:
        """Yield the start and stop of each token."""
        return zip(self._spans.starts.tolist(), self._spans.stops.tolist(), strict=True)

    def edges(self) -> list[int]:
        """Return the offsets where a token with a non-empty span starts or stops, ascending."""
        import numpy as np

        starts, stops = self._spans.starts, self._spans.stops
        covers = stops > starts
        edges = np.sort(np.concatenate([starts[covers], stops[covers]]), kind="stable")
        is_new = np.diff(edges, prepend=-1) > 0
        found: list[int] = edges[is_new].tolist()
        return found

    def _made(self, part: slice) -> Iterator[Token]:
        spans, piece = self._spans, self._piece
        fields = (spans.encoded.ids, spans.starts, spans.stops, spans.kinds)
        for id, start, stop, kind in zip(*(field[part].tolist() for field in fields), strict=True):
            yield Token(id, piece(id), Span(start, stop), _KINDS[kind])


def segment_as_read(
    tokenizer: Tokenizer, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT, long: int = _LONG
) -> Segmentation:
    """Segment a text as `Tokenizer.segment`, but make the tokens of a long one when they are read.

    Args:
        tokenizer: the tokenizer.
        text: the text.
        special: what the text of a special token becomes; if it is not ordinary text, all tokens are made.
        long: characters from which a text is long.

    Raises:
        SpecialTokenError: the text holds a special token under `SpecialPolicy.RAISE`.
        TextError: the text holds a lone surrogate.
    """
    if len(text) < long or special is not SpecialPolicy.TEXT or not isinstance(tokenizer, SupportsSpans):
        return tokenizer.segment(text, special=special)
    return Segmentation(text, TokensInArrays(tokenizer.encode_spans([text]), tokenizer.token_bytes))
