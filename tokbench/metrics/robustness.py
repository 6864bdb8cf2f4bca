"""Robustness to rewritings of a text (case, typos, white space): the rewritings, and the edit distance of ids."""

from __future__ import annotations

import random
import re
import unicodedata
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)} | {0x20: 0x3000}
_HOMOGLYPHS = str.maketrans("aceopxyABCEHKMOPTX", "асеорхуАВСЕНКМОРТХ")
"""Latin letters and the Cyrillic ones that look the same."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_TYPO_IN = 10


def rewritings(*, seed: int = 0) -> Mapping[str, Callable[[str], str]]:
    """Ways to write a text otherwise, by name.

    Args:
        seed: chooses the words that get a typo.
    """
    return {
        "upper case": str.upper,
        "NFD for NFC": lambda text: unicodedata.normalize("NFD", text),
        "typos": lambda text: with_typos(text, seed=seed),
        "space before": lambda text: f" {text}",
        "space behind": lambda text: f"{text} ",
        "full-width": lambda text: text.translate(_FULL_WIDTH),
        "homoglyphs": lambda text: text.translate(_HOMOGLYPHS),
    }


def with_typos(text: str, *, seed: int) -> str:
    """A text in which two neighbouring letters of about every tenth longer word are swapped.

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
    """The fewest insertions, deletions and replacements that make one sequence of ids the other.

    Takes O(n · m), with a row at a time in numpy.

    >>> edit_distance([1, 2, 3, 4], [1, 3, 4, 5])
    2
    """
    columns = np.arange(len(other) + 1)
    row = columns.copy()
    target = np.asarray(other, dtype=np.int64)
    for number, id in enumerate(one, start=1):
        next_row = np.empty_like(row)
        next_row[0] = number
        next_row[1:] = np.minimum(row[1:] + 1, row[:-1] + (target != id))
        # An insertion comes from the left in the same row: a running minimum, once the steps are taken out.
        row = np.minimum.accumulate(next_row - columns) + columns
    return int(row[-1])
