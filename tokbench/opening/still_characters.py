"""The characters that a normal form of Unicode leaves as they are, but for the order of marks.

A text of nothing else, whose marks are in order, is normalized already, and so is every part of it: most texts are, and
to see that takes the kernel a fraction of the time that normalizing them takes Python.
"""

from __future__ import annotations

import unicodedata
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from tokbench.backends.bpe.kernel import current_kernel
from tokbench.core.canonical_parts import VOWELS_AND_TRAILS, wholes_with
from tokbench.core.character_agreement import CharacterAgreement, only_ascii
from tokbench.opening.unicode_agreement import unmarked_of

if TYPE_CHECKING:
    from collections.abc import Callable

NormalForm = Literal["NFC", "NFD", "NFKC", "NFKD"]
NORMAL_FORMS: tuple[NormalForm, ...] = ("NFC", "NFD", "NFKC", "NFKD")


class StillCharacters(CharacterAgreement):
    """Decides whether a normal form leaves a text as it is; a disputed character may be changed.

    Args:
        form: the name of the form, as `unicodedata` has it.
    """

    def __init__(self, form: NormalForm) -> None:
        self._form = form
        kernel = current_kernel().name
        super().__init__(only_ascii(), unmarked=unmarked_of(kernel))
        self._marks_ascend = _marks_ascend if kernel == "python" else _compiled_marks_ascend()

    def leaves(self, text: str) -> bool:
        r"""Whether a text is certainly what it would become, and every part of it, too.

        >>> nfc = StillCharacters("NFC")
        >>> nfc.leaves("é"), nfc.leaves("e\u0301"), nfc.leaves("\u0e01\u0e38\u0e48"), nfc.leaves("\u0e01\u0e48\u0e38")
        (True, False, True, False)
        """
        return text.isascii() or (self.covers(text) and self._marks_ascend(text, self._agreed))

    def mark_of(self, character: str) -> int:
        """One more than the class by which marks are ordered, 0 for what is none."""
        return 1 + unicodedata.combining(character)

    def disputed_among(self, characters: set[str]) -> set[str]:
        """Those that are changed, or may become one with what stands before them."""
        composes = self._form.endswith("C")
        return {
            each
            for each in characters
            if (composes and _may_join(each)) or unicodedata.normalize(self._form, each) != each
        }


def _compiled_marks_ascend() -> Callable[[str, bytearray], bool]:
    from tokbench.native import _bpe

    return _bpe.marks_ascend


def _marks_ascend(text: str, marks: bytearray) -> bool:
    """Whether no mark of more than 1 follows a greater one in a text, without the native kernel."""
    found = [marks[ord(character)] for character in text]
    return not any(1 < mark < before for before, mark in pairwise(found))


def _may_join(character: str) -> bool:
    """Whether a character may become one with what stands before it.

    >>> _may_join("\u09be"), _may_join("\u0bbe"), _may_join("a")  # the vowel signs AA of Bengali and of Tamil
    (True, True, False)
    """
    return ord(character) in VOWELS_AND_TRAILS or bool(wholes_with(character))
