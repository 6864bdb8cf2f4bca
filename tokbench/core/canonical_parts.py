"""What characters are made of to Unicode, one step at a time; Hangul syllables aside, which are made by a rule."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from functools import cache

VOWELS_AND_TRAILS = range(0x1160, 0x1200)
"""Jamo that may become part of the syllable before them."""

_ASSIGNED = range(0xC0, 0x30000)
"""After the first three planes there are ideographs alone."""


@cache
def canonical_parts() -> dict[str, tuple[str, ...]]:
    """Each character that has a canonical decomposition, with the two characters or the one of it.

    >>> canonical_parts()["é"]
    ('e', '\u0301')
    """
    found = {chr(point): unicodedata.decomposition(chr(point)) for point in _ASSIGNED}
    return {
        one: tuple(chr(int(part, 16)) for part in parts.split())
        for one, parts in found.items()
        if parts and not parts.startswith("<")
    }


def wholes_with(second: str) -> frozenset[str]:
    """The characters of which one is the second part.

    >>> "é" in wholes_with("\u0301"), wholes_with("a")
    (True, frozenset())
    """
    return _wholes().get(second, frozenset())


@cache
def characters_with_parts() -> frozenset[str]:
    """The characters that are made of others or may become others with what stands before them; syllables aside."""
    return frozenset({*canonical_parts(), *_wholes(), *map(chr, VOWELS_AND_TRAILS)})


@cache
def _wholes() -> dict[str, frozenset[str]]:
    found = defaultdict(set)
    for whole, parts in canonical_parts().items():
        if len(parts) == 2:
            found[parts[1]].add(whole)
    return {second: frozenset(wholes) for second, wholes in found.items()}
