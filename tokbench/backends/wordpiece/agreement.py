"""Agreement between the library and our kernel on how BERT normalizes and splits each character.

Unicode tables of several years are in use. The kernel has those of one version of `tokenizers`; if another version is
installed, the two are compared character by character. Since characters are normalized independently, agreement on
each character implies agreement on all texts, except for marks that strip_accents keeps and puts into canonical
order: texts with such marks go to the library.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from tokbench.backends.wordpiece.library_characters import is_movable, library_words
from tokbench.core.character_agreement import CharacterAgreement, only_ascii

if TYPE_CHECKING:
    from tokbench.backends.wordpiece.document import BertRules
    from tokbench.backends.wordpiece.kernel import Kernel


class BertAgreement(CharacterAgreement):
    """The check whether the library and the kernel treat every character of a text alike.

    Args:
        kernel: tokbench's kernel.
        rules: the normalization options.
    """

    def __init__(self, kernel: Kernel, rules: BertRules) -> None:
        self._kernel = kernel
        self._rules = asdict(rules)
        super().__init__(settled_characters(kernel, rules), unmarked=kernel.unmarked)

    def disputed_among(self, characters: set[str]) -> set[str]:
        """Return the given characters that the two treat differently."""
        return {character for character in characters if not self._agrees(character)}

    def _agrees(self, character: str) -> bool:
        text = f"a{character}b"
        if self._kernel.normal_words(text, **self._rules) != library_words(text, **self._rules):
            return False
        if not self._rules["strip_accents"]:
            return True
        return not (self._kernel.is_movable(ord(character)) or is_movable(ord(character)))


def settled_characters(kernel: Kernel, rules: BertRules) -> bytearray:
    """Return a 1 for each of the 0x110000 code points that the installed library and the kernel always treat alike."""
    settled = only_ascii()
    if kernel.tables == f"tokenizers {_installed_version()}":
        settled[128:] = kernel.settled_marks(rules.strip_accents)[128:]
    return settled


def _installed_version() -> str:
    import tokenizers

    return tokenizers.__version__
