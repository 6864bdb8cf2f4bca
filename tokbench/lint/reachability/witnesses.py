"""Search for witnesses (texts that contain a token), and possible neighbours of tokens that cut a character.

Texts are encoded in batches, and each new id is stored with the text that contains it.

Two tokens can be adjacent only if merging their own symbols alone results in the two: as long as no merge crosses their
outer ends, the merges between them do not depend on the context. So a token that ends inside a character can occur only
next to a token that continues this character and passes this test; if that ends inside the character as well, so must
its successor.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tokbench.lint.reachability.merging import merge_trail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer
    from tokbench.lint.reachability.merging import MergeRules

T = TypeVar("T")

_BATCH = 1 << 16


class WitnessSearch:
    """The ids found so far, each with the first text whose ids contain it.

    Args:
        tokenizer: the tokenizer; special tokens are encoded as ordinary text.
        threads: number of threads; None uses every processor.
    """

    def __init__(self, tokenizer: Tokenizer, *, threads: int | None = None) -> None:
        self._tokenizer = tokenizer
        self._threads = threads
        self._seen = np.zeros(tokenizer.info.vocab_size, bool)
        self.witnesses: dict[int, str] = {}

    def has(self, id: int) -> bool:
        """Whether the id was found."""
        return bool(self._seen[id])

    def missing(self, ids: Iterable[int]) -> list[int]:
        """Return the ids that were not found."""
        return [id for id in ids if not self._seen[id]]

    def try_texts(self, texts: Iterable[str]) -> None:
        """Encode texts, and store the new ids."""
        rest = iter(texts)
        while batch := list(islice(rest, _BATCH)):
            # Encode all characters once: work on new characters costs about the same for one as for many.
            self._tokenizer.encode("".join(set().union(*batch)))
            encoded = self._tokenizer.encode_batch(batch, threads=self._threads)
            places = np.flatnonzero(~self._seen[encoded.ids])
            if not len(places):
                continue
            new, first = np.unique(encoded.ids[places], return_index=True)
            owners = np.searchsorted(encoded.offsets, places[first], side="right") - 1
            for id, owner in zip(new.tolist(), owners.tolist(), strict=True):
                self.witnesses[id] = batch[owner]
            self._seen[new] = True


def completions(piece: bytes, *, most: int) -> Iterator[str]:
    r"""Complete bytes that may begin and end inside a character to texts.

    Args:
        piece: any bytes.
        most: maximum number of completions of each end, chosen evenly from all possible ones.

    Yields:
        Texts that contain the bytes; none if that is impossible.

    >>> next(completions(b"a\xc3", most=1)), list(completions(b"\xff", most=9))
    ('aÀ', [])
    """
    parts = parted(piece)
    if parts is None:
        return
    first, middle, last = parts
    if len(first) == len(piece):
        yield from _around(piece, most=most * most)
        return
    tails = _tails(last, most=most)
    for head in _heads(first, most=most):
        for tail in tails:
            yield head + middle + tail


def parted(piece: bytes) -> tuple[bytes, str, bytes] | None:
    r"""Split bytes into the end of a character, complete characters, and the beginning of a character.

    Return None if the bytes cannot be part of a valid text.

    >>> parted(b"\xa9e\xc3"), parted(b"\xff")
    ((b'\xa9', 'e', b'\xc3'), None)
    """
    inside = 0
    while inside < len(piece) and 0x80 <= piece[inside] < 0xC0:
        inside += 1
    body = piece[inside:]
    cut = _whole_until(body)
    return None if inside > 3 or cut is None else (piece[:inside], body[:cut].decode(), body[cut:])


def _whole_until(body: bytes) -> int | None:
    """Return the start of the incomplete character at the end of bytes; None if they cannot be part of a text."""
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return error.start if error.reason == "unexpected end of data" else None
    return len(body)


_FIRST = {2: 0x80, 3: 0x800, 4: 0x10000}
_LAST = {2: 0x7FF, 3: 0xFFFF, 4: 0x10FFFF}
_ENUMERATED = 1 << 12


def _characters(part: bytes, *, offset: int, size: int, most: int) -> list[str]:
    """Return up to `most` characters of `size` bytes that contain `part` at an offset, evenly chosen.

    The list is empty only if there are no such characters.
    """
    below = 6 * (size - offset - len(part))
    above = below + 6 * len(part)
    fixed = 0
    for place, byte in enumerate(part):
        fixed = fixed << 6 | byte & (0x7F >> size if offset + place == 0 else 0x3F)
    highs = range(_FIRST[size] >> above, (_LAST[size] >> above) + 1) if offset else range(1)
    starts = [high << above | fixed << below for high in highs]
    count = len(starts) << below
    if count > max(most, _ENUMERATED):
        some = (starts[number >> below] | number & (1 << below) - 1 for number in _spread(range(count), most))
        if found := _encoded_in(size, some):
            return found
    every = (point for start in starts for point in range(start, start + (1 << below)))
    return list(_spread(_encoded_in(size, every if below else starts), most))


def _encoded_in(size: int, points: Iterable[int]) -> list[str]:
    """Return the characters among some numbers whose UTF-8 has `size` bytes."""
    first, last = _FIRST[size], _LAST[size]
    return [chr(point) for point in points if first <= point <= last and not 0xD800 <= point < 0xE000]


def _spread(items: Sequence[T], most: int) -> Sequence[T]:
    return items if len(items) <= most else [items[number * len(items) // most] for number in range(most)]


EVERY = 0x110000
"""An upper limit on the number of characters."""


def characters_ending(part: bytes, *, most: int = EVERY) -> list[str]:
    """Return the characters that end with some bytes; the empty text for no bytes."""
    if not part:
        return [""]
    sizes = range(len(part) + 1, 5)
    return [
        character
        for size in sizes
        for character in _characters(part, offset=size - len(part), size=size, most=most)
    ]


def characters_beginning(part: bytes, *, most: int = EVERY) -> list[str]:
    """Return the characters that begin with some bytes; the empty text for no bytes."""
    if not part:
        return [""]
    return _characters(part, offset=0, size=2 if part[0] < 0xE0 else 3 if part[0] < 0xF0 else 4, most=most)


def characters_around(part: bytes, *, most: int = EVERY) -> list[str]:
    """Return the characters that contain some bytes after their first byte."""
    places = ((size, offset) for size in range(len(part) + 1, 5) for offset in range(1, size - len(part) + 1))
    return [
        character
        for size, offset in places
        for character in _characters(part, offset=offset, size=size, most=most)
    ]


_heads = lru_cache(maxsize=1 << 13)(characters_ending)
_tails = lru_cache(maxsize=1 << 13)(characters_beginning)
_around = lru_cache(maxsize=1 << 10)(characters_around)


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
