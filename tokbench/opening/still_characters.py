"""Characters that a Unicode normal form leaves unchanged, except for the order of marks.

A text of only these characters, with its marks in order, is normalized already, and so is every part of it. That holds
for most texts, and the kernel checks it in a fraction of the time that Python's normalization takes.
"""

from __future__ import annotations

import unicodedata
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from tokbench.backends.bpe.kernel import current_kernel
from tokbench.core.character_agreement import CharacterAgreement, only_ascii
from tokbench.core.normal_forms import VOWELS_AND_TRAILS, wholes_with
from tokbench.opening.unicode_agreement import unmarked_of

if TYPE_CHECKING:
    from collections.abc import Callable

NormalForm = Literal["NFC", "NFD", "NFKC", "NFKD"]
NORMAL_FORMS: tuple[NormalForm, ...] = ("NFC", "NFD", "NFKC", "NFKD")


class StillCharacters(CharacterAgreement):
    """A check whether a normal form leaves a text unchanged; disputed characters may be changed.

    Args:
        form: the name of the form, as in `unicodedata`.
    """

    def __init__(self, form: NormalForm) -> None:
        self._form = form
        kernel = current_kernel().name
        super().__init__(only_ascii(), unmarked=unmarked_of(kernel))
        self._marks_ascend = _marks_ascend if kernel == "python" else _compiled_marks_ascend()

    def leaves(self, text: str) -> bool:
        r"""Whether a text, and every part of it, is certainly left unchanged.

        >>> nfc = StillCharacters("NFC")
        >>> nfc.leaves("é"), nfc.leaves("e\u0301"), nfc.leaves("\u0e01\u0e38\u0e48"), nfc.leaves("\u0e01\u0e48\u0e38")
        (True, False, True, False)
        """
        return text.isascii() or (self.covers(text) and self._marks_ascend(text, self._agreed))

    def mark_of(self, character: str) -> int:
        """Return one more than the combining class of a character."""
        return 1 + unicodedata.combining(character)

    def disputed_among(self, characters: set[str]) -> set[str]:
        """Return the characters that are changed, or that may compose with preceding ones."""
        composes = self._form.endswith("C")
        return {
            character
            for character in characters
            if (composes and _may_join(character))
            or unicodedata.normalize(self._form, character) != character
        }


def _compiled_marks_ascend() -> Callable[[str, bytearray], bool]:
    from tokbench.native import _bpe

    return _bpe.marks_ascend


def _marks_ascend(text: str, marks: bytearray) -> bool:
    """Whether no value above 1 follows a greater one among the marks of a text; used without the native kernel."""
    found = [marks[ord(character)] for character in text]
    return not any(1 < mark < previous for previous, mark in pairwise(found))


def _may_join(character: str) -> bool:
    """Whether a character may compose with a preceding one.

    >>> _may_join("\u09be"), _may_join("\u0bbe"), _may_join("a")  # the vowel signs AA of Bengali and of Tamil
    (True, True, False)
    """
    return ord(character) in VOWELS_AND_TRAILS or bool(wholes_with(character))
