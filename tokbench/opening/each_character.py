"""Apply a character-wise library normalizer to texts, asking the library about each character only once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.opening.character_changes import each_by_itself, is_asked_about

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_REPLACEMENTS = 16


class EachCharacter(dict[int, str]):
    """A lazily filled map from each character to its normalized form.

    Args:
        normalize: normalizes a text character by character.

    >>> EachCharacter(str.swapcase).of("Ab")
    'aB'
    """

    def __init__(self, normalize: Callable[[str], str]) -> None:
        super().__init__()
        self._normalize = normalize
        self._changed: set[str] = set()

    def of(self, text: str) -> str:
        """Return the normalized text."""
        characters = set(text)
        if missing := {character for character in characters if ord(character) not in self}:
            self._ask_about(missing)
        changed = self._changed & characters
        written = {character: self[ord(character)] for character in changed}
        if len(changed) > _MOST_REPLACEMENTS or not changed.isdisjoint("".join(written.values())):
            return text.translate(self)
        # No replacement writes a character that another one replaces.
        for character, normalized in written.items():
            text = text.replace(character, normalized)
        return text

    def _ask_about(self, characters: set[str]) -> None:
        asked = [character for character in characters if is_asked_about(ord(character))]
        normalized = dict(zip(asked, each_by_itself(asked, [self._normalize]) if asked else [], strict=True))
        self._changed.update(character for character, result in normalized.items() if result != character)
        # Last, because other threads take the characters of the map as known.
        self.update((ord(character), normalized.get(character, character)) for character in characters)
