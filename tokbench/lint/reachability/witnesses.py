"""Search for witnesses: texts are encoded in batches, and each new id is stored with the text that contains it."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokbench.core.interfaces import Tokenizer

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
