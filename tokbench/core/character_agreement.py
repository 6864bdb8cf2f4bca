"""The characters that a library and our kernel treat alike; texts with other characters are left to the library.

Both use Unicode tables, each of the Unicode version it was built with. A subclass for each family of tokenizers decides
which characters are disputed; it is asked once for each character, and the answer is cached.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.tokens import Batch

    EncodeMarked = Callable[[list[str], int, bytearray], tuple[NDArray[np.uint32], NDArray[np.int64], str]]

NUM_CODE_POINTS = 0x110000


class CharacterAgreement(ABC):
    """Decides whether a library and the kernel agree on every character of a text.

    Args:
        settled: a byte for each code point, 0 if agreement is not yet known.
        unmarked: a kernel function that takes texts, such bytes and a number of threads, and returns the characters
            of the texts whose byte is 0.
    """

    def __init__(self, settled: bytearray, *, unmarked: Callable[[list[str], bytearray, int], str]) -> None:
        # A byte for each code point, so that the kernel can scan texts by marks alone.
        self._agreed = settled
        self._unmarked = unmarked
        self._disputed: set[str] = set()
        self._all_of_ascii = all(settled[:128])
        self._had_disputed = False

    @abstractmethod
    def disputed_among(self, characters: set[str]) -> set[str]:
        """Return the characters on which the two may disagree."""

    def covers(self, text: str) -> bool:
        """Whether a text has no disputed character. Raises `UnicodeEncodeError` for lone surrogates."""
        return (self._all_of_ascii and text.isascii()) or self.covers_all([text], 1)

    def covers_all(self, texts: Sequence[str], threads: int) -> bool:
        """Whether none of the texts has a disputed character; they are scanned on threads."""
        found = self._unmarked(list(texts), self._agreed, threads)
        self._had_disputed = not self._are_agreed(set(found), texts)
        return not self._had_disputed

    def encoded(self, encode_marked: EncodeMarked, texts: list[str], threads: int) -> Batch | None:
        """Encode and collect unmarked characters in one pass; return None if the texts must be checked first.

        Encoding a text with a disputed character is wasted work. So once texts had one, the next texts are checked
        before they are encoded.

        Args:
            encode_marked: takes texts, a number of threads and a byte for each code point, and returns what
                `encode_batch` gives, and the characters whose byte is 0.
            texts: the texts.
            threads: the number of threads.

        Raises:
            UnicodeEncodeError: a text has a lone surrogate.
        """
        if self._had_disputed:
            return None
        ids, offsets, found = encode_marked(texts, threads, self._agreed)
        self._had_disputed = not self._are_agreed(set(found), texts)
        return None if self._had_disputed else (ids, offsets)

    def _are_agreed(self, characters: set[str], texts: Sequence[str]) -> bool:
        if unknown := characters - self._disputed:
            self._ask_about(unknown, texts)
        return self._disputed.isdisjoint(characters)

    def _ask_about(self, characters: set[str], texts: Sequence[str]) -> None:
        if any("\ud800" <= character <= "\udfff" for character in characters):
            for text in texts:
                text.encode()  # raises, and names the position
        disputed = self.disputed_among(characters)
        self._disputed |= disputed
        for character in characters - disputed:
            self._agreed[ord(character)] = self.mark_of(character)

    def mark_of(self, character: str) -> int:
        """Return the mark, from 1 to 255, of a character on which the two are known to agree."""
        del character
        return 1


def unmarked_in_python(texts: list[str], marks: bytearray, threads: int) -> str:
    """Return the characters of texts whose mark is 0, without the native kernel."""
    del threads
    return "".join(sorted(character for character in set().union(*texts) if not marks[ord(character)]))


def only_ascii() -> bytearray:
    """Return marks for ASCII alone, whose entries no Unicode version has changed."""
    return bytearray(b"\1" * 128).ljust(NUM_CODE_POINTS, b"\0")
