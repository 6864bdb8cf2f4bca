"""Search for the added tokens of a text before it is split (native/encoding/added_tokens.hpp)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tokbench.core.special_tokens import WHITE_SPACE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.opening.found_tokens import FoundToken

_SPACES = "".join(sorted(WHITE_SPACE))
_WORD = re.compile(r"\w", re.ASCII)


class TextPart(NamedTuple):
    """An added token in a text, or a part between two of them.

    Attributes:
        start: its start, in characters.
        stop: its stop.
        id: the id of the token; None for a part between tokens.
    """

    start: int
    stop: int
    id: int | None


class AddedTokenSearch:
    """A search for the leftmost token, the longest one at that position, that continues after each match.

    Args:
        tokens: the tokens to search for together.
    """

    def __init__(self, tokens: Sequence[FoundToken]) -> None:
        self._tokens = {token.text: token for token in tokens}
        by_length = sorted(self._tokens, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, by_length))) if by_length else None

    def parts(self, text: str) -> Iterator[TextPart]:
        """Yield the parts of a text in order; no part is empty."""
        end = 0
        for found in self._pattern.finditer(text) if self._pattern is not None else ():
            token = self._tokens[found.group()]
            start, stop = found.span()
            if token.single_word and (
                _WORD.match(text[start - 1 : start]) or _WORD.match(text[stop : stop + 1])
            ):
                continue
            if token.lstrip:
                start = end + len(text[end:start].rstrip(_SPACES))
            if token.rstrip:
                stop = len(text) - len(text[stop:].lstrip(_SPACES))
            if end < start:
                yield TextPart(end, start, None)
            yield TextPart(start, stop, token.id)
            end = stop
        if end < len(text):
            yield TextPart(end, len(text), None)
