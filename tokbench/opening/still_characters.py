"""The characters that a normal form of Unicode leaves as they are, but for the order of marks.

A text of nothing else, whose marks are in order, is normalised already, and so is every part of it: most texts are, and
to see that takes the kernel a fraction of the time that normalising them takes Python.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Literal

from tokbench.core.character_agreement import CharacterAgreement, only_ascii
from tokbench.native import _bpe

if TYPE_CHECKING:
    from collections.abc import Iterator

NormalForm = Literal["NFC", "NFD", "NFKC", "NFKD"]
NORMAL_FORMS: tuple[NormalForm, ...] = ("NFC", "NFD", "NFKC", "NFKD")

_VOWELS_AND_FINALS = range(0x1160, 0x1200)
"""Jamo that may become part of the syllable before them: NFC composes these by a rule, the others by a table."""


class StillCharacters(CharacterAgreement):
    """Decides whether a normal form leaves a text as it is; a disputed character may be changed.

    Args:
        form: the name of the form, as `unicodedata` has it.
    """

    def __init__(self, form: NormalForm) -> None:
        self._form = form
        super().__init__(only_ascii(), unmarked=_bpe.unmarked)

    def leaves(self, text: str) -> bool:
        r"""Whether a text is certainly what it would become, and every part of it, too.

        >>> nfc = StillCharacters("NFC")
        >>> nfc.leaves("é"), nfc.leaves("e\u0301"), nfc.leaves("\u0e01\u0e38\u0e48"), nfc.leaves("\u0e01\u0e48\u0e38")
        (True, False, True, False)
        """
        return text.isascii() or (self.covers(text) and _bpe.marks_ascend(text, self._agreed))

    def mark_of(self, character: str) -> int:
        """One more than the class by which marks are ordered, 0 for what is none."""
        return 1 + unicodedata.combining(character)

    def disputed_among(self, characters: set[str]) -> set[str]:
        """Those that are changed, or may become one with what stands before them."""
        joining = _joining() if self._form.endswith("C") else frozenset()
        return {
            each for each in characters if each in joining or unicodedata.normalize(self._form, each) != each
        }


@cache
def _joining() -> frozenset[str]:
    """The characters that may become one with what stands before them.

    >>> "\u09be" in _joining(), "\u0bbe" in _joining(), "a" in _joining()  # the vowel signs AA of Bengali and of Tamil
    (True, True, False)
    """
    return frozenset([*map(chr, _VOWELS_AND_FINALS), *_second_parts()])


def _second_parts() -> Iterator[str]:
    for code_point in range(0x110000):
        parts = unicodedata.decomposition(chr(code_point)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            yield chr(int(parts[1], 16))
