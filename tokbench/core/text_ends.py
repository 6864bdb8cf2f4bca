"""The text of the first or last tokens of a text, in whole characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.tokens import SpecialPolicy
from tokbench.core.truncation import check_number, check_side

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer


def truncated_text(
    tokenizer: Tokenizer,
    text: str,
    max_tokens: int,
    *,
    side: str = "right",
    special: SpecialPolicy = SpecialPolicy.TEXT,
) -> str:
    """Return the longest prefix, or suffix, of a text that its first, or last, `max_tokens` tokens cover.

    A character is left out unless all of its tokens are kept. Encoded by itself, the result has at most `max_tokens`
    tokens: where it would have more, it is shortened by further tokens.

    Args:
        tokenizer: any tokenizer.
        text: the text.
        max_tokens: the number of tokens to keep, at least 0.
        side: the end that is truncated: "right" keeps the beginning.
        special: what the text of a special token becomes.

    Raises:
        ConfigError: an invalid number or side.
        TextError: a lone surrogate.

    >>> from tokbench.backends.baseline import ByteBackend
    >>> truncated_text(ByteBackend().train([], ByteBackend.config_type()), "naïve", 3)
    'na'
    """
    check_number("max_tokens", max_tokens, smallest=0, optional=False)
    check_side(side)
    starts, stops = token_places(tokenizer, text, special=special)
    data, size = text.encode(), len(starts)
    if size <= max_tokens:
        return text
    for kept in range(max_tokens, 0, -1):
        if side == "right":
            part = data[: _boundary(data, int(starts[kept]))]
        else:
            part = data[_boundary(data, int(stops[size - kept - 1]), forward=True) :]
        kept_text = part.decode()
        if len(tokenizer.encode(kept_text, special=special)) <= max_tokens:
            return kept_text
    return ""


def ending_of(
    tokenizer: Tokenizer, text: str, tokens: int, *, special: SpecialPolicy = SpecialPolicy.TEXT
) -> str:
    """Return the suffix of a text that its last `tokens` tokens cover; a character that it cuts is included whole.

    >>> from tokbench.backends.baseline import ByteBackend
    >>> ending_of(ByteBackend().train([], ByteBackend.config_type()), "naïve", 3)
    'ïve'
    """
    starts, _ = token_places(tokenizer, text, special=special)
    if len(starts) <= tokens:
        return text
    data = text.encode()
    return data[_boundary(data, int(starts[len(starts) - tokens])) :].decode()


def token_places(
    tokenizer: Tokenizer, text: str, *, special: SpecialPolicy
) -> tuple[Sequence[int] | NDArray[np.int64], Sequence[int] | NDArray[np.int64]]:
    """Return the starts and the stops of the tokens."""
    from tokbench.core.token_arrays import encode_spans

    if special is SpecialPolicy.TEXT:
        spans = encode_spans(tokenizer, [text])
        return spans.starts, spans.stops
    tokens = tokenizer.segment(text, special=special).tokens
    return [token.span.start for token in tokens], [token.span.stop for token in tokens]


def _boundary(data: bytes, place: int, *, forward: bool = False) -> int:
    """Return the nearest character boundary at or before a position, or at or after it."""
    while 0 < place < len(data) and data[place] & 0xC0 == 0x80:
        place += 1 if forward else -1
    return place
