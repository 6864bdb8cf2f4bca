"""The characters that a library and our kernel treat alike; texts with others are left to the library.

Both look characters up in Unicode tables, each in those of the year it was built in. A family of tokenizers says what
makes a character disputed; it is asked when a character first comes up, and the answer is remembered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.encoded import Batch

    EncodeMarked = Callable[[list[str], int, bytearray], tuple[NDArray[np.uint32], NDArray[np.int64], str]]

NUM_CODE_POINTS = 0x110000


class CharacterAgreement(ABC):
    """Decides whether a library and the kernel agree on every character of a text.

    Args:
        settled: a byte for each code point, 0 where the two are not known to agree.
        unmarked: texts, such bytes and a number of threads → the characters of the texts that have a 0; the kernel's.
    """

    def __init__(self, settled: bytearray, *, unmarked: Callable[[list[str], bytearray, int], str]) -> None:
        # A byte a code point, so that the kernel can go through texts by marks alone.
        self._agreed = settled
        self._unmarked = unmarked
        self._disputed: set[str] = set()
        self._all_of_ascii = all(settled[:128])
        self._had_disputed = False

    @abstractmethod
    def disputed_among(self, characters: set[str]) -> set[str]:
        """Those of some characters on which the two may disagree."""

    def covers(self, text: str) -> bool:
        """Whether no character of a text is disputed. Raises `UnicodeEncodeError` for lone surrogates."""
        return (self._all_of_ascii and text.isascii()) or self.covers_all([text], 1)

    def covers_all(self, texts: Sequence[str], threads: int) -> bool:
        """The same of some texts together, on threads."""
        found = self._unmarked(list(texts), self._agreed, threads)
        self._had_disputed = not self._are_agreed(set(found), texts)
        return not self._had_disputed

    def encoded(self, encode_marked: EncodeMarked, texts: list[str], threads: int) -> Batch | None:
        """What an encoder gives that looks for characters on its way; None where the texts have to be looked at first.

        What has a disputed character was encoded in vain. So texts like the last ones are looked at first, where those
        had some.

        Args:
            encode_marked: texts, threads and a byte for each code point → what `encode_batch` gives, and the characters
                of 0.
            texts: some texts.
            threads: on this many threads.

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
                text.encode()  # raises, and says where
        disputed = self.disputed_among(characters)
        self._disputed |= disputed
        for character in characters - disputed:
            self._agreed[ord(character)] = self.mark_of(character)

    def mark_of(self, character: str) -> int:
        """What stands for a character of which the two are known to agree, from 1 to 255."""
        del character
        return 1


def unmarked_in_python(texts: list[str], marks: bytearray, threads: int) -> str:
    """The characters of some texts that have a 0 among the marks, without the native kernel."""
    del threads
    return "".join(sorted(each for each in set().union(*texts) if not marks[ord(each)]))


def only_ascii() -> bytearray:
    """Marks of ASCII alone: there no table has ever changed."""
    return bytearray(b"\1" * 128).ljust(NUM_CODE_POINTS, b"\0")
