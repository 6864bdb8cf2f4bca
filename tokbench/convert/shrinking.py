"""Shrink a text for which a condition holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_CHARACTERS = 4_000_000


def shrink(text: str, differs: Callable[[str], bool]) -> str:
    """Return a smallest text for which `differs` still holds, by removing characters.

    Both ends are cut by bisection, then ever smaller parts are removed everywhere (delta debugging, Zeller and
    Hildebrandt 2002). No single character of the result can be removed, unless the search stopped early after trying
    four million characters.

    Args:
        text: a text for which it holds.
        differs: the condition; called with shorter texts, never with the empty one.

    Returns:
        A text for which it holds; `text` itself if nothing can be removed.

    >>> shrink("some text, with a cause; and more", lambda text: "x" in text and "u" in text)
    'xu'
    """
    holds = _CountedCondition(differs)
    text = text[: _smallest_size(len(text), lambda size: holds(text[:size]))]
    whole = text
    text = whole[-_smallest_size(len(whole), lambda size: holds(whole[-size:])) :]
    size = -(-len(text) // 2)
    while text and not holds.too_much:
        shorter = _without_parts(text, size, holds)
        if size == 1 and shorter == text:
            break
        size = max(1, min(size // 2, len(shorter)))
        text = shorter
    return text


class _CountedCondition:
    """The condition, with a count of the characters that it was called with."""

    def __init__(self, differs: Callable[[str], bool]) -> None:
        self._differs = differs
        self._characters = 0

    def __call__(self, text: str) -> bool:
        self._characters += len(text)
        return bool(text) and self._differs(text)

    @property
    def too_much(self) -> bool:
        return self._characters > _MOST_CHARACTERS


def _smallest_size(largest: int, holds: Callable[[int], bool]) -> int:
    """Return a size for which a condition holds, the least if it is monotonic; it must hold for `largest`."""
    below = 0
    while largest - below > 1:
        middle = (below + largest) // 2
        below, largest = (below, middle) if holds(middle) else (middle, largest)
    return largest


def _without_parts(text: str, size: int, holds: _CountedCondition) -> str:
    """Return the text without every part of a size that can be removed, trying the last ones first."""
    start = (len(text) - 1) // size * size
    while start >= 0 and not holds.too_much:
        shorter = text[:start] + text[start + size :]
        if holds(shorter):
            text = shorter
        start -= size
    return text
