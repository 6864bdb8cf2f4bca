"""SentencePiece's normalizer in Python: the reference for the kernel.

At each position of a text, a user-defined symbol is copied; else the longest key of the character map is replaced;
else one character is copied; a byte that begins no character becomes U+FFFD. In the result, extra spaces are removed,
a space is added in front or at the end, and each space is replaced by ▁, as the options say.

Source: normalizer.cc of SentencePiece 0.2.3, and the layout of Darts-clone for the character map.
"""

from __future__ import annotations

import numpy as np

from tokbench.formats.sentencepiece.model import SPACE

_MOST_NESTED_KEYS, _MOST_NESTED_SYMBOLS = 32, 64
"""The largest number of keys, or of symbols, with a common start that the library considers, from the shortest on."""
CHARACTER_LENGTHS = bytes([1] * 192 + [2] * 32 + [3] * 16 + [4] * 16)
"""The number of bytes of a character by its first byte."""
_BLOCK_BYTES = 1024
_LONGEST_REPLACEMENT = 1024
_REPLACEMENT = "\ufffd".encode()


class CharacterMap:
    """The table `precompiled_charsmap`: key → replacement, as a double-array trie.

    Raises:
        ValueError: the table is damaged or points outside itself.
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
        """Return the length of the longest key at a position of a text, or 0, and its replacement."""
        place = _offset(self._units[0])
        matches: list[tuple[int, int]] = []
        for stop in range(start + 1, len(text) + 1):
            place ^= text[stop - 1]
            unit = self._units[place]
            if _label(unit) != text[stop - 1]:
                break
            place ^= _offset(unit)
            if _ends_key(unit):
                matches.append((stop - start, self._units[place] & 0x7FFF_FFFF))
        if not matches:
            return 0, b""
        length, value = matches[:_MOST_NESTED_KEYS][-1]
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
    """The normalizer of one model.

    Args:
        charsmap: the table `precompiled_charsmap`; empty for none.
        symbols: the user-defined symbols.
        add_dummy_prefix: whether to add a space in front of each text.
        remove_extra_whitespaces: whether to strip spaces at both ends and collapse runs of spaces.
        escape_whitespaces: whether to write a space as ▁.
        treat_whitespace_as_suffix: whether to add the space of `add_dummy_prefix` at the end instead.

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
        """Return the normalized form of a text, which need not be UTF-8."""
        normal = bytearray()
        place = self._after_spaces(text) if self._removes else 0
        if place == len(text):
            return b""
        if self._prefix:
            normal += self._space
        is_after_space = self._removes
        while place < len(text):
            length, data = self._unit_at(text, place)
            if is_after_space:
                data = data.lstrip(b" ")
            if data:
                normal += data.replace(b" ", self._space)
                is_after_space = self._removes and data.endswith(b" ")
            place += length
        if self._removes:
            while normal.endswith(self._space):
                del normal[-len(self._space) :]
        if self._suffix:
            normal += self._space
        return bytes(normal)

    def _after_spaces(self, text: bytes) -> int:
        place = 0
        while place < len(text):
            length, data = self._unit_at(text, place)
            if data != b" ":
                break
            place += length
        return place

    def _unit_at(self, text: bytes, place: int) -> tuple[int, bytes]:
        """Return the length of the unit at a position, and its replacement before the treatment of spaces."""
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
