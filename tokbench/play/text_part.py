"""The part of a long text that is encoded first: what is on the screen, and some of what is round it."""

from __future__ import annotations

from dataclasses import dataclass

LONG = 200_000
"""Characters from which a text has a part that is encoded before all of it."""
_BEFORE, _BEHIND = 8_000, 16_000
"""Characters of the part on each side of the cursor: more than any screen shows."""
_REACH = 2_000
"""Characters further in which the part may begin at a line's beginning, or end at a line's end."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text, or all of it.

    Attributes:
        text: it.
        character: the character of the whole text at which it begins.
        byte: the byte of the whole text as UTF-8 at which it begins.
        is_whole: whether it is all of the text.
    """

    text: str
    character: int = 0
    byte: int = 0
    is_whole: bool = True

    def holds(self, character: int) -> bool:
        """Whether a cursor before a character of the whole text stands in it."""
        return self.is_whole or self.character <= character <= self.character + len(self.text)


def part_round(text: str, cursor: int) -> TextPart:
    r"""The part of a text round a cursor, which begins and ends with lines where there are ends of lines.

    >>> part = part_round("low\n" * 100_000, 200_000)
    >>> part.character, part.byte, len(part.text), part.text[:4], part.is_whole
    (192000, 192000, 24000, 'low\n', False)
    """
    if len(text) < LONG:
        return TextPart(text)
    first, last = max(cursor - _BEFORE, 0), min(cursor + _BEHIND, len(text))
    line = text.rfind("\n", max(first - _REACH, 0), first)
    first = line + 1 if line >= 0 else first
    end = text.find("\n", last - 1, last + _REACH)
    last = end + 1 if end >= 0 else last
    return TextPart(text[first:last], first, len(text[:first].encode()), is_whole=False)
