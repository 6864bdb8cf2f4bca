"""Normalisation by character as a table for the kernel (native/normalization/character_changes.hpp).

The table says what the steps in Python make of each character, so that it is what they are, many times as fast. It has
the blocks of characters that texts have had so far: to ask about all there are takes seconds.
"""

from __future__ import annotations

import unicodedata
from itertools import accumulate, chain
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.character_agreement import NUM_CODE_POINTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from tokbench.native._bpe import CharacterChanges

    Step = Callable[[str], str]

_APART = "\u0905"
"""Stands between characters: a letter that nothing changes, orders or makes."""
_SURROGATES = range(0xD800, 0xE000)
_BLOCK = 256


def is_asked_about(code: int) -> bool:
    """Whether a code point is of a character that a text can have, and is not the one that stands between them."""
    return code not in _SURROGATES and code != ord(_APART)


def each_by_itself(characters: Iterable[str], steps: Sequence[Step]) -> list[str]:
    """What steps make of each of some characters, asked in one text.

    >>> each_by_itself("ÀΣ", [str.lower])
    ['à', 'σ']
    """
    text = _APART.join(characters)
    for step in steps:
        text = step(text)
    return text.split(_APART)


class ChangesByNeed:
    """The table of some steps for the characters of texts.

    Args:
        ordered: the steps up to the one that brings marks into their order.
        behind: those that follow.
        orders: whether there is such a one, the last of `ordered`.
    """

    def __init__(self, ordered: Sequence[Step], behind: Sequence[Step], *, orders: bool) -> None:
        self._ordered = ordered
        self._behind = behind
        self._orders = orders
        self._known = bytearray(NUM_CODE_POINTS)
        """1 for each code point that the table knows of."""
        self._table = self._made(())
        self._growing = Lock()

    def of(self, texts: list[str], threads: int = 1) -> CharacterChanges:
        """A table that knows the characters of some texts; they are looked through on threads."""
        from tokbench.native._bpe import unmarked

        if missing := unmarked(texts, self._known, threads):
            self._learn({ord(character) // _BLOCK for character in missing})
        return self._table

    def _learn(self, blocks: set[int]) -> None:
        with self._growing:
            known = np.frombuffer(self._known, np.uint8).reshape(-1, _BLOCK)
            blocks.update(np.flatnonzero(known.any(axis=1)).tolist())
            codes = chain.from_iterable(
                range(block * _BLOCK, (block + 1) * _BLOCK) for block in sorted(blocks)
            )
            self._table = self._made(list(map(chr, filter(is_asked_about, codes))))
            for block in blocks:  # which others see no sooner than the table
                self._known[block * _BLOCK : (block + 1) * _BLOCK] = bytes([1]) * _BLOCK

    def _made(self, characters: Sequence[str]) -> CharacterChanges:
        from tokbench.native._bpe import CharacterChanges

        parts = each_by_itself(characters, self._ordered) if characters else []
        distinct = sorted({*chain.from_iterable(parts)} - {_APART})
        spelled = dict(zip(distinct, each_by_itself(distinct, self._behind), strict=True)) if distinct else {}
        spelled[_APART] = _APART
        order = {part: unicodedata.combining(part) if self._orders else 0 for part in spelled}
        changed = {
            character: whole
            for character, whole in zip(characters, parts, strict=True)
            if whole != character or spelled[whole] != whole or order[whole]
        }
        made = [part for whole in changed.values() for part in whole]
        texts = [spelled[part].encode() for part in made]
        return CharacterChanges(
            np.fromiter(map(ord, changed), np.uint32, len(changed)),
            _ends(map(len, changed.values()), len(changed)),
            np.fromiter((order[part] for part in made), np.uint8, len(made)),
            np.frombuffer(self._inserted(list(changed)) if self._orders else bytes(len(made)), np.uint8),
            _ends(map(len, texts), len(texts)),
            b"".join(texts),
        )

    def _inserted(self, characters: Sequence[str]) -> bytes:
        """Of each part that characters are taken apart into 1 if it was put in behind another one, else 0."""
        *before, takes_apart = self._ordered
        whole = each_by_itself(characters, before)
        distinct = sorted(set().union(*whole))
        if not distinct:
            return b""
        sizes = dict(zip(distinct, map(len, each_by_itself(distinct, [takes_apart])), strict=True))
        return bytes(place > 0 for each in whole for part in each for place in range(sizes[part]))


def _ends(sizes: Iterable[int], count: int) -> NDArray[np.uint32]:
    return np.fromiter(accumulate(sizes, initial=0), np.uint32, count + 1)
