"""The characters that the library and our kernel normalize and split alike, as BERT does.

Both look characters up in Unicode tables of several years. The kernel has those of one version of `tokenizers`; where
another one is installed, that is asked. Each character is normalized by itself, so that agreeing on each of them is
agreeing on all texts, but for marks that strip_accents keeps and puts into their canonical order: texts with those go
to the library.
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
    """Decides whether the library and the kernel treat every character of a text alike.

    Args:
        kernel: ours.
        rules: what is done to a text.
    """

    def __init__(self, kernel: Kernel, rules: BertRules) -> None:
        self._kernel = kernel
        self._rules = asdict(rules)
        super().__init__(settled_characters(kernel, rules), unmarked=kernel.unmarked)

    def disputed_among(self, characters: set[str]) -> set[str]:
        """The characters, of those given, that the two treat differently."""
        return {character for character in characters if not self._agrees(character)}

    def _agrees(self, character: str) -> bool:
        text = f"a{character}b"
        if self._kernel.normal_words(text, **self._rules) != library_words(text, **self._rules):
            return False
        if not self._rules["strip_accents"]:
            return True
        return not (self._kernel.is_movable(ord(character)) or is_movable(ord(character)))


def settled_characters(kernel: Kernel, rules: BertRules) -> bytearray:
    """A 1 for each of the 0x110000 code points that the installed library treats as the kernel does, in every text."""
    settled = only_ascii()
    if kernel.tables == f"tokenizers {_installed_version()}":
        settled[128:] = kernel.settled_marks(rules.strip_accents)[128:]
    return settled


def _installed_version() -> str:
    import tokenizers

    return tokenizers.__version__
