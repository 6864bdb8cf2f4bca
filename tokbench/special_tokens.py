"""Special tokens: which sets of them are allowed, and finding them in a text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tokbench.errors import ConfigError, SpecialTokenError
from tokbench.tokens import Span, SpecialPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class Piece(NamedTuple):
    """A part of a text: ordinary text, or the text of a special token."""

    text: str
    is_special: bool


def check_special_tokens(special_tokens: Sequence[str]) -> None:
    """Refuse sets in which a text could be cut in more than one way.

    Raises:
        ConfigError: one is empty, has no UTF-8 form, occurs twice, or is part of another.

    >>> check_special_tokens(["<|endoftext|>", "<|pad|>"])
    """
    for token in special_tokens:
        if not token:
            raise ConfigError("a special token is empty", hint="give each one a text, such as <|endoftext|>")
        try:
            token.encode()
        except UnicodeEncodeError:
            raise ConfigError(f"the special token {token!a} has no UTF-8 form") from None
    seen: set[str] = set()
    for token in special_tokens:
        if token in seen:
            raise ConfigError(f"the special token {token!r} is given twice", hint="name each one once")
        seen.add(token)
    for token in special_tokens:
        for other in special_tokens:
            if token != other and token in other:
                raise ConfigError(
                    f"the special token {token!r} is part of the special token {other!r}",
                    hint="a text with the longer one could be read in two ways: rename one of them",
                )


class SpecialTokenFinder:
    """Cuts texts at special tokens: the leftmost first, and of two that start together the longest."""

    def __init__(self, special_tokens: Iterable[str]) -> None:
        alternatives = sorted(special_tokens, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, alternatives))) if alternatives else None

    def cut(self, text: str, *, special: SpecialPolicy) -> Iterator[Piece]:
        """The pieces of a text; under `SpecialPolicy.TEXT` one ordinary piece.

        Raises:
            SpecialTokenError: the text holds one under `SpecialPolicy.RAISE`.
        """
        position = 0
        if self._pattern is not None and special is not SpecialPolicy.TEXT:
            for match in self._pattern.finditer(text):
                if special is SpecialPolicy.RAISE:
                    start = len(text[: match.start()].encode(errors="surrogatepass"))
                    raise SpecialTokenError(match.group(), Span(start, start + len(match.group().encode())))
                if position < match.start():
                    yield Piece(text[position : match.start()], is_special=False)
                yield Piece(match.group(), is_special=True)
                position = match.end()
        if position < len(text):
            yield Piece(text[position:], is_special=False)
