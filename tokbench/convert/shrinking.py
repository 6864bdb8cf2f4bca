"""Shrink a text on which something goes wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_CHARACTERS = 4_000_000


def shrink(text: str, differs: Callable[[str], bool]) -> str:
    """The smallest text on which `differs` still holds, found by leaving out characters.

    Both ends are cut off by bisection, then ever smaller parts are left out from everywhere
    (delta debugging, Zeller and Hildebrandt 2002): no single character of the result can be left
    out, unless four million characters were tried before that was known.

    Args:
        text: one on which it holds.
        differs: asked for texts that are shorter, and never for the empty one.

    Returns:
        A text on which it holds; `text` itself where nothing can be left out.

    >>> shrink("some text, with a cause; and more", lambda text: "x" in text and "u" in text)
    'xu'
    """
    asked = _Asked(differs)
    text = text[: _least(len(text), lambda size: asked(text[:size]))]
    whole = text
    text = whole[-_least(len(whole), lambda size: asked(whole[-size:])) :]
    size = -(-len(text) // 2)
    while text and not asked.too_much:
        shorter = _without_parts(text, size, asked)
        if size == 1 and shorter == text:
            break
        size = max(1, min(size // 2, len(shorter)))
        text = shorter
    return text


class _Asked:
    """The question, with a count of the characters for which it was asked."""

    def __init__(self, differs: Callable[[str], bool]) -> None:
        self._differs = differs
        self._characters = 0

    def __call__(self, text: str) -> bool:
        self._characters += len(text)
        return bool(text) and self._differs(text)

    @property
    def too_much(self) -> bool:
        return self._characters > _MOST_CHARACTERS


def _least(largest: int, holds: Callable[[int], bool]) -> int:
    """A size at which it holds, the least one if it holds from some size on; it does at the largest."""
    below = 0
    while largest - below > 1:
        middle = (below + largest) // 2
        below, largest = (below, middle) if holds(middle) else (middle, largest)
    return largest


def _without_parts(text: str, size: int, asked: _Asked) -> str:
    """The text without each part of a size that can be left out, the last ones first."""
    start = (len(text) - 1) // size * size
    while start >= 0 and not asked.too_much:
        shorter = text[:start] + text[start + size :]
        if asked(shorter):
            text = shorter
        start -= size
    return text
