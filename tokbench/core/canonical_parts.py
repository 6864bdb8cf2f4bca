"""Canonical decompositions of Unicode characters by single steps, without Hangul syllables, which follow a rule."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from functools import cache

VOWELS_AND_TRAILS = range(0x1160, 0x1200)
"""Jamo that may join the syllable before them."""

_ASSIGNED = range(0xC0, 0x30000)
"""From U+30000 on, only ideographs are assigned."""


@cache
def canonical_parts() -> dict[str, tuple[str, ...]]:
    """Map each character that has a canonical decomposition to its one or two parts.

    >>> canonical_parts()["é"]
    ('e', '\u0301')
    """
    decompositions = {chr(point): unicodedata.decomposition(chr(point)) for point in _ASSIGNED}
    return {
        character: tuple(chr(int(part, 16)) for part in parts.split())
        for character, parts in decompositions.items()
        if parts and not parts.startswith("<")
    }


def wholes_with(second: str) -> frozenset[str]:
    """Return the characters whose decomposition has `second` as its second part.

    >>> "é" in wholes_with("\u0301"), wholes_with("a")
    (True, frozenset())
    """
    return _wholes().get(second, frozenset())


@cache
def characters_with_parts() -> frozenset[str]:
    """Return the characters that decompose, or may compose with the character before them; no Hangul syllables."""
    return frozenset({*canonical_parts(), *_wholes(), *map(chr, VOWELS_AND_TRAILS)})


@cache
def _wholes() -> dict[str, frozenset[str]]:
    wholes: defaultdict[str, set[str]] = defaultdict(set)
    for whole, parts in canonical_parts().items():
        if len(parts) == 2:
            wholes[parts[1]].add(whole)
    return {second: frozenset(characters) for second, characters in wholes.items()}
