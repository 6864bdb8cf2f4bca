"""Number of characters that each character becomes when a string changes case or expands tabs.

One character may become several in upper case ("ß" is "SS"), lower case ("İ"), and title case ("ŉ"), but none
disappears.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def sizes_of(text: str, method: Callable[[str], str]) -> list[int]:
    """Return the size of each character after `str.upper`, `lower`, `casefold` or `swapcase`.

    A sigma, which depends on its neighbours, becomes one character in any case.

    >>> sizes_of("aß", str.upper)
    [1, 2]
    """
    return [len(method(character)) for character in text]


def capitalize_sizes(text: str) -> list[int]:
    """Return the sizes for `str.capitalize`: the first character in title case, the others in lower case."""
    return [len(text[:1].title()), *sizes_of(text[1:], str.lower)]


def title_sizes(text: str) -> list[int]:
    """Return the sizes for `str.title`, where a character's form depends on the one before it."""
    return [
        len(text[:1].title()),
        *(len((before + character).title()) - len(before.title()) for before, character in pairwise(text)),
    ]


def tab_sizes(text: str, width: int) -> list[int]:
    r"""Return the sizes for `str.expandtabs`.

    >>> tab_sizes("a\tb", 4)
    [1, 3, 1]
    """
    sizes = []
    column = 0
    for character in text:
        size = (width - column % width if width > 0 else 0) if character == "\t" else 1
        column = 0 if character in "\r\n" else column + size
        sizes.append(size)
    return sizes
