"""On which characters a library and our kernel agree, so that "the same ids" is said of every text.

Split patterns ask for letters, marks, digits and white space, and each library answers from the
Unicode tables of the year it was built in; NFC has tables too. A character is asked about when it
first comes up, from the library itself, and remembered. A text with one on which they disagree is
left to the library.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import tiktoken
    from tokenizers.pre_tokenizers import Split

CLASSES = (r"[\p{Lu}\p{Lt}]", r"\p{Ll}", r"[\p{Lm}\p{Lo}]", r"\p{M}", r"\p{N}", r"\s")
"""The classes that the named patterns are written with, in the order of the kernel's numbers from 1."""

_NUM_CODE_POINTS = 0x110000


class CharacterAgreement:
    """Tells of texts whether every character in them is the same to a library as to the kernel.

    Args:
        members: (class, text) → the characters of the text that the library finds in the class.
        kernel: the name of the kernel that runs.
        nfc: whether the text is also brought to NFC.
    """

    def __init__(self, members: Callable[[str, str], str], *, kernel: str, nfc: bool) -> None:
        self._members = members
        self._kernel = kernel
        self._nfc = nfc
        # Two arrays, so that the kernel can go through a text by marks alone.
        self._agreed = np.zeros(_NUM_CODE_POINTS, np.uint8)
        self._agreed[:128] = 1  # there the tables have never changed
        self._is_known = self._agreed.astype(np.bool_)

    def covers(self, text: str) -> bool:
        """Whether no character of a text is disputed. Raises `UnicodeEncodeError` for lone surrogates."""
        if text.isascii() or self._all_agreed(text):
            return True
        code_points = np.frombuffer(text.encode("utf-32-le"), "<u4")
        is_known = self._is_known[code_points]
        if not is_known.all():
            self._ask(np.unique(code_points[~is_known]).tolist())
        return bool(self._agreed[code_points].all())

    def _all_agreed(self, text: str) -> bool:
        """Whether that is known of a text without looking closer."""
        if self._kernel != "native":
            return False
        from tokbench.backends.bpe import _native

        return _native.all_marked(text, self._agreed)

    def _ask(self, code_points: list[int]) -> None:
        characters = "".join(map(chr, code_points))
        disputed: set[str] = set()
        for number, each in enumerate(CLASSES, start=1):
            ours = _members_here(each, number, characters, kernel=self._kernel)
            disputed |= ours ^ set(self._members(each, characters))
        if self._nfc:
            disputed |= {character for character in characters if not _is_settled_in_nfc(character)}
        for code_point in code_points:
            self._agreed[code_point] = chr(code_point) not in disputed
            self._is_known[code_point] = True


def _members_here(each: str, number: int, characters: str, *, kernel: str) -> set[str]:
    """The characters that the kernel that runs finds in a class."""
    if kernel == "native":
        from tokbench.backends.bpe import _native

        return {character for character in characters if _native.class_of(ord(character)) == number}
    import regex

    return set(regex.findall(each, characters))


def _is_settled_in_nfc(character: str) -> bool:
    """Whether every library of the last twenty years normalises a character in the same way.

    By Unicode's stability policy that is so for what was assigned in 3.2. Later characters count
    where NFC has nothing to do with them: ideographs and what is neither letter nor mark.
    """
    if unicodedata.ucd_3_2_0.category(character) != "Cn":
        return True
    category = unicodedata.category(character)
    if category == "Cn" or unicodedata.combining(character) or unicodedata.decomposition(character):
        return False
    return category[0] in "NPSZ" or unicodedata.name(character, "").startswith("CJK UNIFIED")


def tokenizers_members(each: str, text: str) -> str:
    """The characters of a text that Oniguruma, as `tokenizers` has it, finds in a class."""
    return "".join(piece for piece, _ in _tokenizers_split(each).pre_tokenize_str(text))


def tiktoken_members(each: str, text: str) -> str:
    """The characters of a text that the expressions of `tiktoken` find in a class."""
    return _tiktoken_finder(each).decode(_tiktoken_finder(each).encode_ordinary(text))


@cache
def _tokenizers_split(each: str) -> Split:
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    return Split(Regex(each), "removed", invert=True)


@cache
def _tiktoken_finder(each: str) -> tiktoken.Encoding:
    import tiktoken

    every_byte = {bytes([byte]): byte for byte in range(256)}
    return tiktoken.Encoding("class", pat_str=each, mergeable_ranks=every_byte, special_tokens={})
