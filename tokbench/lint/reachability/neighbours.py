"""Tokens that begin or end inside a character: which tokens can stand beside them, and so whether they can occur.

Two tokens stand side by side only if their own symbols, merged alone, give the two: while no merge crosses their
outer ends, nothing outside decides what happens between them. So a token that ends inside a character occurs only
where some token with the rest of that character passes this test, and its rest in turn.
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
    """The tokens of a byte-level BPE that can stand beside one another.

    Args:
        rules: its merges.
        tokens: the bytes of each token → how the rules spell it.
        kinds: divides characters so that those of one part may stand in the same pre-tokens.
        fits: whether a text may stand inside one pre-token.
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
        """Bytes in which an incomplete token may occur, with its neighbours; where there are none, it never does.

        Args:
            token: one for which `parted` gives parts.
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
        """What can stand before the token, as the whole characters that end with its first bytes, and as bytes."""
        for character in self._fitting(characters_ending(first), before="", after=after):
            for before in self._before(character.encode()[: -len(first)] if first else b"", token):
                text = _whole(before + first)
                if self._fits(text + after):
                    yield text, before

    def _tails(self, last: bytes, before: str, token: bytes) -> Iterator[tuple[str, bytes]]:
        """Likewise after it."""
        for character in self._fitting(characters_beginning(last), before=before, after=""):
            for after in self._after(character.encode()[len(last) :], token):
                text = _whole(last + after)
                if self._fits(before + text):
                    yield text, after

    def _fitting(self, characters: Sequence[str], *, before: str, after: str) -> Iterator[str]:
        """Those that may stand in one pre-token with others."""
        for kind in self._kinds("".join(characters)) if characters != [""] else [[""]]:
            if self._fits(f"{before}{kind[0]}{after}"):
                yield from kind

    # --- neighbours ---------------------------------------------------------------------------

    def _before(self, part: bytes, token: bytes) -> Iterator[bytes]:
        """What can stand before a token and ends with a part of a character."""
        if not part:
            yield b""
            return
        yield from (each for each in self._ending.get(part, ()) if self._stand_together(each, token))
        for cut in range(1, len(part)):
            if part[cut:] in self._tokens and self._stand_together(part[cut:], token):
                yield from (rest + part[cut:] for rest in self._before(part[:cut], part[cut:]))

    def _after(self, part: bytes, token: bytes) -> Iterator[bytes]:
        """What can stand after a token and begins with a part of a character."""
        if not part:
            yield b""
            return
        yield from (each for each in self._beginning.get(part, ()) if self._stand_together(token, each))
        for cut in range(1, len(part)):
            if part[:cut] in self._tokens and self._stand_together(token, part[:cut]):
                yield from (part[:cut] + rest for rest in self._after(part[cut:], part[:cut]))

    def _stand_together(self, left: bytes, right: bytes) -> bool:
        """Whether merging the symbols of two tokens gives the two."""
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
    """The whole characters of bytes that may begin and end inside others."""
    parts = parted(data)
    return "" if parts is None else parts[1]
