"""What a normalizer of a library makes of texts of which it makes something character by character."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.opening.character_changes import each_by_itself, is_asked_about

if TYPE_CHECKING:
    from collections.abc import Callable

_FEW = 16


class EachCharacter(dict[int, str]):
    """What each character becomes, asked when it is first seen.

    Args:
        normalize: what is done to a text, by character.

    >>> EachCharacter(str.swapcase).of("Ab")
    'aB'
    """

    def __init__(self, normalize: Callable[[str], str]) -> None:
        super().__init__()
        self._normalize = normalize
        self._changed: set[str] = set()

    def of(self, text: str) -> str:
        """What a text becomes."""
        characters = set(text)
        if missing := {each for each in characters if ord(each) not in self}:
            self._ask_about(missing)
        found = self._changed & characters
        written = {each: self[ord(each)] for each in found}
        if len(found) > _FEW or not found.isdisjoint("".join(written.values())):
            return text.translate(self)
        for each, made in written.items():  # of which none writes another
            text = text.replace(each, made)
        return text

    def _ask_about(self, characters: set[str]) -> None:
        self.update((ord(each), each) for each in characters)
        asked = [each for each in characters if is_asked_about(ord(each))]
        made = each_by_itself(asked, [self._normalize]) if asked else []
        self.update(zip(map(ord, asked), made, strict=True))
        self._changed.update(each for each in characters if self[ord(each)] != each)
