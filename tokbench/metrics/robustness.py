"""Robustness to variations of a text (case, typos, white space): the variations, and the edit distance of ids."""

from __future__ import annotations

import random
import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)} | {0x20: 0x3000}
_HOMOGLYPHS = str.maketrans("aceopxyABCEHKMOPTX", "асеорхуАВСЕНКМОРТХ")
"""Latin letters, with the Cyrillic letters that look the same."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_TYPO_IN = 10


def rewritings(*, seed: int = 0) -> Mapping[str, Callable[[str], str]]:
    """Return functions that write a text in other ways, by name.

    Args:
        seed: selects the words that get a typo.
    """
    return {
        "upper case": str.upper,
        "NFD for NFC": lambda text: unicodedata.normalize("NFD", text),
        "typos": lambda text: with_typos(text, seed=seed),
        "space before": lambda text: f" {text}",
        "space after": lambda text: f"{text} ",
        "full-width": lambda text: text.translate(_FULL_WIDTH),
        "homoglyphs": lambda text: text.translate(_HOMOGLYPHS),
    }


def with_typos(text: str, *, seed: int) -> str:
    """Return a text in which two neighbouring letters of about every tenth longer word are swapped.

    >>> with_typos("nothing", seed=3) in {"nothing", "onthing", "ntohing", "nohting", "nothnig", "notihng", "nothign"}
    True
    """
    generator = random.Random(f"{seed}:{text}")  # noqa: S311 -- nothing is secret here

    def swapped(match: re.Match[str]) -> str:
        word = match.group()
        if generator.randrange(_TYPO_IN):
            return word
        position = generator.randrange(len(word) - 1)
        return word[:position] + word[position + 1] + word[position] + word[position + 2 :]

    return _WORD.sub(swapped, text)


def edit_distance(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the fewest insertions, deletions and replacements that turn one sequence of ids into the other.

    A column of the distance table is represented by two integers, whose bits say where it rises by one and where it
    falls by one from row to row; the next column takes a few operations on them.

    Source: Hyyrö 2003, "A Bit-Vector Algorithm for Computing Levenshtein and Damerau Edit Distances", after Myers 1999.

    >>> edit_distance([1, 2, 3, 4], [1, 3, 4, 5])
    2
    """
    if not one:
        return len(other)
    places: dict[int, int] = {}
    for index, id in enumerate(one):
        places[id] = places.get(id, 0) | 1 << index
    every, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    rises, falls, distance = every, 0, len(one)
    for id in other:
        equal = places.get(id, 0)
        level = (((equal & rises) + rises) ^ rises) | equal | falls  # where the diagonal adds nothing
        rises_across, falls_across = falls | ~(level | rises), rises & level
        distance += bool(rises_across & last) - bool(falls_across & last)
        rises_across = rises_across << 1 | 1  # the first row rises by one from column to column
        rises, falls = (falls_across << 1 | ~(level | rises_across)) & every, rises_across & level & every
    return distance
