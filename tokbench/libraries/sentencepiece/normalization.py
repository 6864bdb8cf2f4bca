"""SentencePiece's normalizer, outside the library: the definition in Python of what the kernel does.

What a text becomes before pieces are looked for in it. At each place a user-defined symbol stays as it is, else the
longest key of the character map gives way to its replacement, else a character stays; a byte that begins none becomes
U+FFFD. What is made is freed of extra spaces, gets one in front or after, and has ▁ where it has spaces.

Source: normalizer.cc of SentencePiece 0.2.3, and the layout of Darts-clone for the character map.
"""

from __future__ import annotations

import numpy as np

from tokbench.formats.sentencepiece.model import SPACE

_MOST_NESTED_KEYS, _MOST_NESTED_SYMBOLS = 32, 64
"""Of keys that begin one another, and of such symbols, the library sees this many."""
_BLOCK_BYTES = 1024
_LONGEST_REPLACEMENT = 1024
_REPLACEMENT = "\ufffd".encode()


class CharacterMap:
    """The table `precompiled_charsmap`: key → replacement, in a double array.

    Raises:
        ValueError: it leads anywhere outside of itself.
    """

    def __init__(self, table: bytes) -> None:
        size = int.from_bytes(table[:4], "little")
        if len(table) <= 4 or size == 0 or size % _BLOCK_BYTES or size >= len(table) - 4:
            raise ValueError(f"a normalization table whose array has {size} bytes")
        self._units: list[int] = np.frombuffer(table, "<u4", count=size // 4, offset=4).tolist()
        self._replacements = table[4 + size :]
        if self._replacements[-1] != 0:
            raise ValueError("a normalization table whose last replacement has no end")
        self._check()

    def longest(self, text: bytes, start: int) -> tuple[int, bytes]:
        """The length of the longest key at a place of a text, 0 where there is none, and its replacement."""
        place = _offset(self._units[0])
        found: list[tuple[int, int]] = []
        for stop in range(start + 1, len(text) + 1):
            place ^= text[stop - 1]
            unit = self._units[place]
            if _label(unit) != text[stop - 1]:
                break
            place ^= _offset(unit)
            if _ends_key(unit):
                found.append((stop - start, self._units[place] & 0x7FFF_FFFF))
        if not found:
            return 0, b""
        length, value = found[:_MOST_NESTED_KEYS][-1]
        return length, self._replacement(value)

    def _check(self) -> None:
        units = np.array(self._units, np.int64)
        root = self._units[0]
        offsets = (units >> 10) << ((units & (1 << 9)) >> 6)
        bases = np.arange(len(units)) ^ offsets
        is_value = units >> 31 == 1
        leads_outside = ~is_value & (bases | 0xFF >= len(units))
        if _label(root) or _ends_key(root) or not _offset(root) or leads_outside[0]:
            raise ValueError("a normalization table without a root")
        ends_key = ~is_value & ~leads_outside & (units & (1 << 8) != 0)
        if leads_outside.any() or not is_value[bases[ends_key]].all():
            raise ValueError("a normalization table that points after its end")
        values = units[is_value] & 0x7FFF_FFFF
        if values.size and values.max() >= len(self._replacements):
            raise ValueError("a normalization table that points after its replacements")
        ends = np.flatnonzero(np.frombuffer(self._replacements, np.uint8) == 0)
        if values.size and (ends[np.searchsorted(ends, values)] - values).max() > _LONGEST_REPLACEMENT:
            raise ValueError(
                f"a normalization table with a replacement of more than {_LONGEST_REPLACEMENT} bytes"
            )

    def _replacement(self, value: int) -> bytes:
        return self._replacements[value : self._replacements.index(0, value)]


class Normalizer:
    """Makes of a text what the pieces of one model are looked for in.

    Args:
        charsmap: the table `precompiled_charsmap`; empty for none.
        symbols: the user-defined symbols.
        add_dummy_prefix: whether a space is put in front of each text.
        remove_extra_whitespaces: whether spaces at the ends are dropped, and runs of them become one.
        escape_whitespaces: whether a space is written as ▁.
        treat_whitespace_as_suffix: whether the dummy prefix stands after the text.

    Raises:
        ValueError: the table is damaged, or a symbol is empty.

    >>> options = dict(remove_extra_whitespaces=True, escape_whitespaces=True, treat_whitespace_as_suffix=False)
    >>> Normalizer(b"", [], add_dummy_prefix=True, **options).normalize(b" a  b ").decode()
    '▁a▁b'
    """

    def __init__(
        self,
        charsmap: bytes,
        symbols: list[bytes],
        *,
        add_dummy_prefix: bool,
        remove_extra_whitespaces: bool,
        escape_whitespaces: bool,
        treat_whitespace_as_suffix: bool,
    ) -> None:
        if b"" in symbols:
            raise ValueError("a user-defined symbol is empty")
        self._map = CharacterMap(charsmap) if charsmap else None
        self._symbols = sorted(set(symbols), key=len)
        self._removes = remove_extra_whitespaces
        self._prefix = add_dummy_prefix and not treat_whitespace_as_suffix
        self._suffix = add_dummy_prefix and treat_whitespace_as_suffix
        self._space = SPACE.encode() if escape_whitespaces else b" "

    def normalize(self, text: bytes) -> bytes:
        """The normalized form of a text, which need not be UTF-8."""
        made = bytearray()
        place = self._after_spaces(text) if self._removes else 0
        if place == len(text):
            return b""
        if self._prefix:
            made += self._space
        is_after_space = self._removes
        while place < len(text):
            length, data = self._unit_at(text, place)
            if is_after_space:
                data = data.lstrip(b" ")
            if data:
                made += data.replace(b" ", self._space)
                is_after_space = self._removes and data.endswith(b" ")
            place += length
        if self._removes:
            while made.endswith(self._space):
                del made[-len(self._space) :]
        if self._suffix:
            made += self._space
        return bytes(made)

    def _after_spaces(self, text: bytes) -> int:
        place = 0
        while place < len(text):
            length, data = self._unit_at(text, place)
            if data != b" ":
                break
            place += length
        return place

    def _unit_at(self, text: bytes, place: int) -> tuple[int, bytes]:
        """What stands at a place: how many bytes, and what becomes of them before spaces are looked at."""
        nested = [symbol for symbol in self._symbols if text.startswith(symbol, place)]
        if nested:
            symbol = nested[:_MOST_NESTED_SYMBOLS][-1]
            return len(symbol), symbol
        length, data = self._map.longest(text, place) if self._map is not None else (0, b"")
        if length:
            return length, data
        for length in range(1, 5):
            try:
                text[place : place + length].decode()
            except UnicodeDecodeError:
                continue
            return length, text[place : place + length]
        return 1, _REPLACEMENT


def _label(unit: int) -> int:
    return unit & 0x8000_00FF


def _ends_key(unit: int) -> bool:
    return unit >> 8 & 1 == 1


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & 1 << 9) >> 6)
