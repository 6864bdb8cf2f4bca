"""Possible neighbours of tokens that begin or end inside a character, which decide whether these can occur.

Two tokens can be adjacent only if merging their own symbols alone results in the two: as long as no merge crosses their
outer ends, the merges between them do not depend on the context. So a token that ends inside a character can occur only
next to a token that continues this character and passes this test; if that ends inside the character as well, so must
its successor.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from tokbench.lint.reachability.merging import merge_trail
from tokbench.lint.reachability.witnesses import (
    characters_around,
    characters_beginning,
    characters_ending,
    parted,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tokbench.lint.reachability.merging import MergeRules


class Neighbours:
    """The adjacency of tokens of a byte-level BPE.

    Args:
        rules: the merge rules.
        tokens: bytes of each token → its spelling in the rules.
        kinds: groups characters that can occur in the same pre-tokens.
        fits: whether a text may be part of one pre-token.
    """

    def __init__(
        self,
        rules: MergeRules[Any],
        tokens: Mapping[bytes, Any],
        *,
        kinds: Callable[[str], Iterable[str]],
        fits: Callable[[str], bool],
    ) -> None:
        self._rules = rules
        self._tokens = tokens
        self._kinds = kinds
        self._fits = fits
        self._ending: dict[bytes, list[bytes]] = defaultdict(list)
        self._beginning: dict[bytes, list[bytes]] = defaultdict(list)
        for token in tokens:
            parts = parted(token)
            if parts is not None and parts[2]:
                self._ending[parts[2]].append(token)
            if parts is not None and parts[0]:
                self._beginning[parts[0]].append(token)
        self._known: dict[tuple[bytes, bytes], bool] = {}

    def surroundings(self, token: bytes) -> Iterator[bytes]:
        """Yield an incomplete token together with possible neighbours, as bytes; without any, the token never occurs.

        Args:
            token: a token for which `parted` returns parts.
        """
        parts = parted(token)
        assert parts is not None
        first, middle, last = parts
        if len(first) == len(token):
            yield from self._inside_a_character(token)
            return
        heads = list(self._heads(first, middle, token))
        for tail, after in self._tails(last, middle, token) if heads else ():
            for head, before in heads:
                if self._fits(head + middle + tail):
                    yield before + token + after

    # --- characters ---------------------------------------------------------------------------

    def _inside_a_character(self, token: bytes) -> Iterator[bytes]:
        for character in self._fitting(characters_around(token), before="", after=""):
            data = character.encode()
            for place in range(1, len(data) - len(token) + 1):
                if not data.startswith(token, place):
                    continue
                befores = list(self._before(data[:place], token))
                for after in self._after(data[place + len(token) :], token) if befores else ():
                    for before in befores:
                        whole = before + token + after
                        if self._fits(_whole(whole)):
                            yield whole

    def _heads(self, first: bytes, after: str, token: bytes) -> Iterator[tuple[str, bytes]]:
        """Yield (text, bytes): possible bytes before the token, and the text that they form with its first bytes."""
        for character in self._fitting(characters_ending(first), before="", after=after):
            for before in self._before(character.encode()[: -len(first)] if first else b"", token):
                text = _whole(before + first)
                if self._fits(text + after):
                    yield text, before

    def _tails(self, last: bytes, before: str, token: bytes) -> Iterator[tuple[str, bytes]]:
        """Yield (text, bytes): possible bytes after the token, and the text that its last bytes form with them."""
        for character in self._fitting(characters_beginning(last), before=before, after=""):
            for after in self._after(character.encode()[len(last) :], token):
                text = _whole(last + after)
                if self._fits(before + text):
                    yield text, after

    def _fitting(self, characters: Sequence[str], *, before: str, after: str) -> Iterator[str]:
        """Yield the characters that may be in one pre-token with the texts before and after."""
        for kind in self._kinds("".join(characters)) if characters != [""] else [[""]]:
            if self._fits(f"{before}{kind[0]}{after}"):
                yield from kind

    # --- neighbours ---------------------------------------------------------------------------

    def _before(self, part: bytes, token: bytes) -> Iterator[bytes]:
        """Yield possible bytes before a token that end with the first part of a character."""
        if not part:
            yield b""
            return
        yield from (
            neighbour for neighbour in self._ending.get(part, ()) if self._can_be_adjacent(neighbour, token)
        )
        for cut in range(1, len(part)):
            if part[cut:] in self._tokens and self._can_be_adjacent(part[cut:], token):
                yield from (rest + part[cut:] for rest in self._before(part[:cut], part[cut:]))

    def _after(self, part: bytes, token: bytes) -> Iterator[bytes]:
        """Yield possible bytes after a token that begin with the last part of a character."""
        if not part:
            yield b""
            return
        yield from (
            neighbour
            for neighbour in self._beginning.get(part, ())
            if self._can_be_adjacent(token, neighbour)
        )
        for cut in range(1, len(part)):
            if part[:cut] in self._tokens and self._can_be_adjacent(token, part[:cut]):
                yield from (part[:cut] + rest for rest in self._after(part[cut:], part[:cut]))

    def _can_be_adjacent(self, left: bytes, right: bytes) -> bool:
        """Whether merging the symbols of two tokens results in the two."""
        if (left, right) not in self._known:
            pair = [self._tokens[left], self._tokens[right]]
            symbols = [self._rules.symbols(token) for token in pair]
            self._known[left, right] = (
                symbols[0] is not None
                and symbols[1] is not None
                and merge_trail(self._rules, [*symbols[0], *symbols[1]])[0] == pair
            )
        return self._known[left, right]


def _whole(data: bytes) -> str:
    """Return the complete characters of bytes that may begin and end inside characters."""
    parts = parted(data)
    return "" if parts is None else parts[1]
