"""Number of characters that each character becomes when a string changes case or expands tabs.

One character may become several in upper case ("ß" is "SS"), lower case ("İ"), and title case ("ŉ"), but none
disappears.
"""

from __future__ import annotations

from itertools import pairwise


def upper_sizes(text: str) -> list[int]:
    """Return the size of each character after `str.upper`.

    >>> upper_sizes("aß")
    [1, 2]
    """
    return [len(character.upper()) for character in text]


def lower_sizes(text: str) -> list[int]:
    """Return the sizes for `str.lower`. A sigma, which depends on its neighbours, becomes one character either way."""
    return [len(character.lower()) for character in text]


def casefold_sizes(text: str) -> list[int]:
    """Return the sizes for `str.casefold`."""
    return [len(character.casefold()) for character in text]


def swapcase_sizes(text: str) -> list[int]:
    """Return the sizes for `str.swapcase`."""
    return [len(character.swapcase()) for character in text]


def capitalize_sizes(text: str) -> list[int]:
    """Return the sizes for `str.capitalize`: the first character in title case, the others in lower case."""
    return [len(text[:1].title()), *lower_sizes(text[1:])]


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
