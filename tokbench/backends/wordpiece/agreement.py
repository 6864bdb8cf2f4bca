"""The characters of which the library makes what our kernel makes of them; texts with others are left to it.

BERT's normaliser and pre-tokenizer look characters up in Unicode tables of several years. The kernel has those of one
version of `tokenizers`; where another one is installed, that is asked about a character when it first comes up, and the
answer is remembered. Each character is normalised by itself, so that agreeing on each of them is agreeing on all
texts, but for marks that strip_accents keeps and puts into their canonical order: texts with those go to the library.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from tokbench.backends.wordpiece.library_characters import is_movable, library_words

if TYPE_CHECKING:
    from tokbench.backends.wordpiece.document import BertRules
    from tokbench.backends.wordpiece.kernel import Kernel

_NUM_CODE_POINTS = 0x110000


class CharacterAgreement:
    """Decides whether the library and the kernel make the same of every character of a text.

    Args:
        kernel: ours.
        rules: what is done to a text.
    """

    def __init__(self, kernel: Kernel, rules: BertRules) -> None:
        self._kernel = kernel
        self._rules = asdict(rules)
        # A byte a code point, so that the kernel can go through a text by marks alone.
        self._agreed = bytearray(_NUM_CODE_POINTS)
        if kernel.tables == f"tokenizers {_installed_version()}":
            self._agreed = bytearray(kernel.settled_marks(rules.strip_accents))
        self._agreed[:128] = b"\1" * 128  # there no table has ever changed
        self._disputed: set[str] = set()

    def covers(self, text: str) -> bool:
        """Whether no character of a text is disputed. Raises `UnicodeEncodeError` for lone surrogates."""
        if text.isascii() or self._kernel.all_marked(text, self._agreed):
            return True
        text.encode()  # raises for lone surrogates
        characters = set(text)
        if characters & self._disputed:
            return False
        unknown = {character for character in characters if not self._agreed[ord(character)]}
        disputed = {character for character in unknown if not self._agrees(character)}
        self._disputed |= disputed
        for character in unknown - disputed:
            self._agreed[ord(character)] = 1
        return not disputed

    def _agrees(self, character: str) -> bool:
        text = f"a{character}b"
        if self._kernel.normal_words(text, **self._rules) != library_words(text, **self._rules):
            return False
        if not self._rules["strip_accents"]:
            return True
        return not (self._kernel.is_movable(ord(character)) or is_movable(ord(character)))


def _installed_version() -> str:
    import tokenizers

    return tokenizers.__version__
