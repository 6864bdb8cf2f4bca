"""Characters that a reader may take for one with the character beside them, on which replacements depend then."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MARKS = ("Mn", "Me", "Mc", "Cf", "Cn")
_OTHER_MARKS = (0x0E33, 0x0EB3, 0xFF9E, 0xFF9F, *range(0x1F3FB, 0x1F400))
"""What a reader may take for a part of the character before it: these, marks, formats, and what is not assigned."""
_JOINED_TO_PREVIOUS = (*range(0x0300, 0x0370), *range(0x0653, 0x0656))
"""Of these, marks that each reader takes for a part of the character before it, and normal forms put together."""
_JOINED_TO_NEXT = (
    *(*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x0D4E, 0x110BD, 0x110CD, 0x111C2),
    *(0x111C3, 0x113D1, 0x1193F, 0x11941, 0x11A3A, *range(0x11A84, 0x11A8A), 0x11D46, 0x11F02),
)
"""Grapheme_Cluster_Break=Prepend, which is not looked at any closer."""


@cache
def joining() -> NDArray[np.uint8]:
    """Of each code point, as the compiled encoder of Unigram documents has it.

    0 stands alone, 1 may join the one before, 2 is left out, 3 does join the one before. Characters of three bytes and
    more that join one another, as those of Hangul do, count as standing alone.
    """
    made = np.array([unicodedata.category(chr(one)) in _MARKS for one in range(0x110000)], np.uint8)
    made[list(_OTHER_MARKS)] = 1
    made[list(_JOINED_TO_PREVIOUS)] = 3
    made[list(_JOINED_TO_NEXT)] = 2
    made[0xD800:0xE000] = 2
    return made
