"""Normalization tables of SentencePiece models that no library wrote."""

from __future__ import annotations

import struct

import pytest

from tokbench.errors import ConversionError
from tokbench.formats.sentencepiece.charsmap import rules_of

LEAF, VALUE = 1 << 8, 1 << 31


def table(units: dict[int, int], replacements: bytes = b"\0") -> bytes:
    """Return a table whose double array has the given units, and 0 elsewhere."""
    array = struct.pack("<256I", *(units.get(place, 0) for place in range(256)))
    return struct.pack("<I", len(array)) + array + replacements


def test_rules_are_read_from_the_trie() -> None:
    """The root's base is 128, at which "a" is 225; from there, "b" is 66 at base 32."""
    ends = {225: (225 ^ 32) << 10 | LEAF | ord("a"), 32: VALUE | 0, 66: (66 ^ 64) << 10 | LEAF | ord("b")}
    array = {0: 128 << 10, **ends, 64: VALUE | 3}
    assert rules_of(table(array, "é\0zz\0".encode())) == {"a": "é", "ab": "zz"}


def test_table_with_a_cycle_is_refused() -> None:
    with pytest.raises(ConversionError, match="contains a cycle"):
        rules_of(table({0: 2 << 10, 3: 1 << 10 | 1}))


def test_table_of_parts_of_characters_is_refused() -> None:
    array = {0: 128 << 10, 128 ^ 0xC3: (128 ^ 0xC3 ^ 32) << 10 | LEAF | 0xC3, 32: VALUE | 0}
    with pytest.raises(ConversionError, match="replaces parts of characters"):
        rules_of(table(array))
    array = {0: 128 << 10, 225: (225 ^ 32) << 10 | LEAF | ord("a"), 32: VALUE | 0}
    with pytest.raises(ConversionError, match="replaces parts of characters"):
        rules_of(table(array, b"\xc3\0"))
