"""Normalisation by character as a table for the kernel (native/normalization/character_changes.hpp).

The table says what the steps in Python make of every code point, so that it is what they are, many times as fast. Of
the planes in which there are only unassigned code points and private ones, one of each kind is asked about.
"""

from __future__ import annotations

import unicodedata
from itertools import accumulate, chain
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.native._bpe import CharacterChanges

    Step = Callable[[str], str]

_APART = "\u0905"
"""Stands between characters: a letter that nothing changes, orders or makes."""
_SURROGATES = range(0xD800, 0xE000)
_ASSIGNED = (range(0x40000), range(0xE0000, 0xE1000))
_UNASSIGNED, _PRIVATE = 0x40000, 0xF0000


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


def character_changes(ordered: Sequence[Step], behind: Sequence[Step], *, orders: bool) -> CharacterChanges:
    """The table of some steps.

    Args:
        ordered: those up to the one that brings marks into their order.
        behind: those that follow.
        orders: whether there is such a one.
    """
    from tokbench.native._bpe import CharacterChanges

    characters = list(map(chr, filter(is_asked_about, _codes())))
    parts = each_by_itself(characters, ordered)
    distinct = sorted({*chain.from_iterable(parts)} - {_APART})
    made = dict(zip(distinct, each_by_itself(distinct, behind), strict=True)) | {_APART: _APART}
    order = {part: unicodedata.combining(part) if orders else 0 for part in made}
    changed = {
        ord(character): whole
        for character, whole in zip(characters, parts, strict=True)
        if whole != character or made[whole] != whole or order[whole]
    }
    removed = _like_those_left_out(changed)
    spelled = [made[part].encode() for whole in changed.values() for part in whole]
    firsts = _ends(map(len, changed.values()), len(changed))
    return CharacterChanges(
        np.concatenate([np.fromiter(changed, np.uint32, len(changed)), removed]),
        np.pad(firsts, (0, len(removed)), mode="edge"),
        np.fromiter((order[part] for whole in changed.values() for part in whole), np.uint8, len(spelled)),
        _ends(map(len, spelled), len(spelled)),
        b"".join(spelled),
    )


def _codes() -> Iterable[int]:
    return chain(*_ASSIGNED, (_UNASSIGNED, _PRIVATE))


def _like_those_left_out(changed: Mapping[int, str]) -> NDArray[np.uint32]:
    """The code points of the higher planes that are left out as those are that were asked about in their place."""
    assert all(changed.get(code, "") == "" for code in (_UNASSIGNED, _PRIVATE)), "one becomes something else"
    codes = np.arange(_UNASSIGNED, 0x110000, dtype=np.uint32)
    codes = codes[(codes < _ASSIGNED[1].start) | (codes >= _ASSIGNED[1].stop)]
    are_private = (codes >= _PRIVATE) & (codes & 0xFFFE != 0xFFFE)
    left_out: NDArray[np.uint32] = codes[np.where(are_private, _PRIVATE in changed, _UNASSIGNED in changed)]
    return left_out


def _ends(sizes: Iterable[int], count: int) -> NDArray[np.uint32]:
    return np.fromiter(accumulate(sizes, initial=0), np.uint32, count + 1)
