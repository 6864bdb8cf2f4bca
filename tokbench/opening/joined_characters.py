"""Characters that may form a grapheme cluster with an adjacent one, on which replacements then depend."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MARKS = ("Mn", "Me", "Mc", "Cf", "Cn")
_OTHER_MARKS = (0x0E33, 0x0EB3, 0xFF9E, 0xFF9F, *range(0x1F3FB, 0x1F400))
"""Characters that may extend the preceding one: these, marks, format characters and unassigned ones."""
_JOINED_TO_PREVIOUS = (*range(0x0300, 0x0370), *range(0x0653, 0x0656))
"""Of these, marks that always extend the preceding character, and that normal forms compose."""
_JOINED_TO_NEXT = (
    *(*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x0D4E, 0x110BD, 0x110CD, 0x111C2),
    *(0x111C3, 0x113D1, 0x1193F, 0x11941, 0x11A3A, *range(0x11A84, 0x11A8A), 0x11D46, 0x11F02),
)
"""Grapheme_Cluster_Break=Prepend; not examined any further."""


@cache
def joining() -> NDArray[np.uint8]:
    """Return the joining class of each code point, as the compiled encoder of Unigram documents uses it.

    The classes are 0: stands alone; 1: may join the preceding character; 2: left to the library; 3: always joins the
    preceding character. Characters of three or more bytes that join each other, such as Hangul, count as standing
    alone.
    """
    classes = np.array([unicodedata.category(chr(code)) in _MARKS for code in range(0x110000)], np.uint8)
    classes[list(_OTHER_MARKS)] = 1
    classes[list(_JOINED_TO_PREVIOUS)] = 3
    classes[list(_JOINED_TO_NEXT)] = 2
    classes[0xD800:0xE000] = 2
    return classes
