"""Texts that show tokens: candidates are encoded in batches, and every new id keeps the text it was seen in."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokbench.core.interfaces import Tokenizer

_BATCH = 1 << 16


class WitnessSearch:
    """The ids that were seen, each with the first text that gave it.

    Args:
        tokenizer: encodes; special tokens are ordinary text to it.
        threads: None takes every processor.
    """

    def __init__(self, tokenizer: Tokenizer, *, threads: int | None = None) -> None:
        self._tokenizer = tokenizer
        self._threads = threads
        self._seen = np.zeros(tokenizer.info.vocab_size, bool)
        self.witnesses: dict[int, str] = {}

    def has(self, id: int) -> bool:
        """Whether the token was seen."""
        return bool(self._seen[id])

    def missing(self, ids: Iterable[int]) -> list[int]:
        """Those of some ids that were not seen."""
        return [id for id in ids if not self._seen[id]]

    def try_texts(self, texts: Iterable[str]) -> None:
        """Encode texts and keep what they show."""
        rest = iter(texts)
        while batch := list(islice(rest, _BATCH)):
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
    r"""Texts in which bytes stand that may begin and end within a character.

    Args:
        piece: any bytes.
        most: completions of each end; those left out are spread evenly over all there are.

    Yields:
        Each text has the bytes; nothing, where no text can have them.

    >>> next(completions(b"a\xc3", most=1)), list(completions(b"\xff", most=9))
    ('aÀ', [])
    """
    inside = 0
    while inside < len(piece) and 0x80 <= piece[inside] < 0xC0:
        inside += 1
    if inside == len(piece):
        yield from _around(piece, most=most * most)
        return
    heads = _heads(piece[:inside], most=most)
    body = piece[inside:]
    cut = _whole_until(body)
    if cut is None:
        return
    tails = _tails(body[cut:], most=most)
    middle = body[:cut].decode()
    for head in heads:
        for tail in tails:
            yield head + middle + tail


def _whole_until(body: bytes) -> int | None:
    """Where the last, incomplete character of bytes begins; None where they can be no part of a text."""
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return error.start if error.reason == "unexpected end of data" else None
    return len(body)


def _characters_with(part: bytes, *, offset: int, size: int) -> Iterator[str]:
    """Every character of so many bytes that has some bytes, none of them the first, at an offset."""
    first, last = {2: (0x80, 0x7FF), 3: (0x800, 0xFFFF), 4: (0x10000, 0x10FFFF)}[size]
    below = 6 * (size - offset - len(part))
    above = below + 6 * len(part)
    fixed = 0
    for byte in part:
        fixed = fixed << 6 | byte & 0x3F
    for high in range((last >> above) + 1):
        for low in range(1 << below):
            point = high << above | fixed << below | low
            if first <= point <= last and not 0xD800 <= point < 0xE000:
                yield chr(point)


def _spread(items: list[str], most: int) -> list[str]:
    return items if len(items) <= most else [items[number * len(items) // most] for number in range(most)]


@lru_cache(maxsize=1 << 13)
def _heads(part: bytes, *, most: int) -> Sequence[str]:
    """Characters that end with some bytes; the empty text for none."""
    if not part:
        return [""]
    found: list[str] = []
    for size in range(len(part) + 1, 5):
        found += _spread(list(_characters_with(part, offset=size - len(part), size=size)), most)
    return found


@lru_cache(maxsize=1 << 13)
def _tails(part: bytes, *, most: int) -> Sequence[str]:
    """Characters that begin with some bytes; the empty text for none."""
    if not part:
        return [""]
    size = 2 if part[0] < 0xE0 else 3 if part[0] < 0xF0 else 4
    missing = size - len(part)
    found = []
    for number in range(1 << 6 * missing):
        rest = bytes(0x80 | number >> 6 * place & 0x3F for place in range(missing - 1, -1, -1))
        try:
            found.append((part + rest).decode())
        except UnicodeDecodeError:
            continue
    return _spread(found, most)


@lru_cache(maxsize=1 << 10)
def _around(part: bytes, *, most: int) -> Sequence[str]:
    """Characters that have some bytes after their first one."""
    found: list[str] = []
    for size in range(len(part) + 1, 5):
        for offset in range(1, size - len(part) + 1):
            found += _spread(list(_characters_with(part, offset=offset, size=size)), most)
    return found
