"""The characters of which a library and our kernel make the same; texts with others are left to the library.

Both look characters up in Unicode tables, each in those of the year it was built in. A family of tokenizers says what
makes a character disputed; it is asked when a character first comes up, and the answer is remembered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

NUM_CODE_POINTS = 0x110000


class CharacterAgreement(ABC):
    """Decides whether a library and the kernel agree on every character of a text.

    Args:
        settled: a byte for each code point, 1 where the two are known to agree.
        all_marked: a text and such bytes → whether each of its code points has a 1, or False where that would have to
            be worked out; the kernel's.
    """

    def __init__(self, settled: bytearray, *, all_marked: Callable[[str, bytearray], bool]) -> None:
        # A byte a code point, so that the kernel can go through a text by marks alone.
        self._agreed = settled
        self._all_marked = all_marked
        self._disputed: set[str] = set()
        self._all_of_ascii = all(settled[:128])

    @abstractmethod
    def disputed_among(self, characters: set[str]) -> set[str]:
        """Those of some characters on which the two may disagree."""

    def covers(self, text: str) -> bool:
        """Whether no character of a text is disputed. Raises `UnicodeEncodeError` for lone surrogates."""
        if (self._all_of_ascii and text.isascii()) or self._all_marked(text, self._agreed):
            return True
        text.encode()  # raises for lone surrogates
        characters = set(text)
        unknown = {character for character in characters - self._disputed if not self._agreed[ord(character)]}
        if unknown:
            disputed = self.disputed_among(unknown)
            self._disputed |= disputed
            for character in unknown - disputed:
                self._agreed[ord(character)] = 1
        return self._disputed.isdisjoint(characters)


def only_ascii() -> bytearray:
    """Marks of ASCII alone: there no table has ever changed."""
    return bytearray(b"\1" * 128).ljust(NUM_CODE_POINTS, b"\0")
