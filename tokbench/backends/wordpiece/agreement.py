"""How BERT normalizes and splits each character in the installed library, and whether our kernel agrees.

Unicode tables of several years are in use. The kernel has those of one version of `tokenizers`; if another version is
installed, the two are compared character by character. Since characters are normalized independently, agreement on
each character implies agreement on all texts, except for marks that strip_accents keeps and puts into canonical
order: texts with such marks go to the library.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

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


_MOVERS = "\u302e\U0001d165"
"""Characters of the combining classes 224 and 216 that strip_accents keeps.

A mark of any other class is reordered with one of them.
"""


def library_words(
    text: str, *, clean_text: bool, handle_chinese_chars: bool, strip_accents: bool, lowercase: bool
) -> list[str]:
    """Return the words of a text after BertNormalizer and BertPreTokenizer.

    >>> rules = dict(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True)
    >>> library_words("Café-Bar", **rules)
    ['cafe', '-', 'bar']
    """
    normal = _normalizer(clean_text, handle_chinese_chars, strip_accents, lowercase).normalize_str(text)
    return [word for word, _ in _splitter().pre_tokenize_str(normal)]


@cache
def is_movable(code_point: int) -> bool:
    """Return whether strip_accents keeps a character or a part of it, which may be reordered with the marks around it.

    A musical note is decomposed: a mark after it moves between its parts, and the library reports the position of the
    mark for the part after it.

    >>> is_movable(0x302E), is_movable(0x1D15E), is_movable(0x301), is_movable(ord("a"))
    (True, True, False, False)
    """
    strip = _normalizer(False, False, True, False).normalize_str  # noqa: FBT003
    kept = strip(chr(code_point))
    return any(
        strip(f"{mover}{part}{mover}") != f"{mover}{part}{mover}" for part in kept for mover in _MOVERS
    )


@cache
def _normalizer(*options: bool) -> Any:
    from tokenizers.normalizers import BertNormalizer

    names = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    return BertNormalizer(**dict(zip(names, options, strict=True)))


@cache
def _splitter() -> Any:
    from tokenizers.pre_tokenizers import BertPreTokenizer

    return BertPreTokenizer()
