"""The characters that a library and our kernel put into the same class, so that split patterns match alike.

Split patterns ask for letters, marks, digits and white space; NFC has tables of its own.

Most are not asked about: an assigned character that Unicode 3.2 of 2002 and the kernel's tables put into
the same class has been in no other one in between, and every library is from in between. (Python has the
tables of 3.2; `tests/parity` asks the installed libraries about every such character.)
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from tokbench.core.character_agreement import CharacterAgreement, only_ascii, unmarked_in_python

if TYPE_CHECKING:
    from collections.abc import Callable

    import tiktoken
    from tokenizers.pre_tokenizers import Split

CLASSES = (r"[\p{Lu}\p{Lt}]", r"\p{Ll}", r"[\p{Lm}\p{Lo}]", r"\p{M}", r"\p{N}", r"\s")
"""The classes that the named patterns are written with, in the order of the kernel's numbers from 1."""

_CLASS_OF_CATEGORY = {
    category: number
    for number, categories in enumerate(("Lu Lt", "Ll", "Lm Lo", "Mn Mc Me", "Nd Nl No", "Zs Zl Zp"), start=1)
    for category in categories.split()
}
"""White space is more than the last three: a control character that is counts as unsettled."""


class UnicodeAgreement(CharacterAgreement):
    """Decides whether a library and the kernel agree on every character of a text.

    Args:
        members: (class, text) → the characters of the text that the library finds in the class.
        kernel: the name of the kernel that runs.
        nfc: whether the text is also brought to NFC, or another normal form.
        further: characters → those of them that are disputed for another reason; also asked about ASCII.
    """

    def __init__(
        self,
        members: Callable[[str, str], str],
        *,
        kernel: str,
        nfc: bool,
        further: Callable[[set[str]], set[str]] | None = None,
    ) -> None:
        self._members = members
        self._kernel = kernel
        self._nfc = nfc
        self._further = further
        settled = only_ascii()
        for character in set() if further is None else further(set(map(chr, range(128)))):
            settled[ord(character)] = 0
        super().__init__(settled, unmarked=unmarked_of(kernel))

    def disputed_among(self, characters: set[str]) -> set[str]:
        """Those of some characters that the two put into different classes, or that are disputed for another reason."""
        classes = classes_here(characters, kernel=self._kernel)
        asked = "".join(sorted(one for one, number in classes.items() if not is_settled(one, number)))
        disputed: set[str] = set()
        for number, each in enumerate(CLASSES if asked else (), start=1):
            ours = {character for character in asked if classes[character] == number}
            disputed |= ours ^ set(self._members(each, asked))
        if self._nfc:
            disputed |= {character for character in characters if not _is_settled_in_nfc(character)}
        return disputed | (self._further(characters) if self._further is not None else set())


def unmarked_of(kernel: str) -> Callable[[list[str], bytearray, int], str]:
    """What finds the characters that have no mark, as `CharacterAgreement` takes it, in a kernel."""
    if kernel != "native":
        return unmarked_in_python
    from tokbench.native import _bpe

    return _bpe.unmarked


def classes_here(characters: set[str], *, kernel: str) -> dict[str, int]:
    """The class of each character to the kernel that runs; 0 for none of them."""
    if kernel == "native":
        from tokbench.native import _bpe

        return {character: _bpe.class_of(ord(character)) for character in characters}
    import regex

    found = {
        character: number
        for number, each in enumerate(CLASSES, start=1)
        for character in regex.findall(each, "".join(characters))
    }
    return {character: found.get(character, 0) for character in characters}


def is_settled(character: str, number: int) -> bool:
    r"""Whether a character is in the class of a number, or in none for 0, in the tables of every year.

    >>> [is_settled(*one) for one in [("字", 3), ("字", 2), ("€", 0), ("͸", 0)]]  # the last is unassigned
    [True, False, True, False]
    """
    if number != _CLASS_OF_CATEGORY.get(unicodedata.ucd_3_2_0.category(character), 0):
        return False
    return number != 0 or unicodedata.category(character) != "Cn"


def _is_settled_in_nfc(character: str) -> bool:
    """Whether every library of the last twenty years normalises a character in the same way.

    By Unicode's stability policy that is so for what was assigned in 3.2. Later characters count where NFC has nothing
    to do with them, so that who does not know them leaves them alone, too: they are no part of others, and no marks
    that are put into an order.
    """
    if unicodedata.ucd_3_2_0.category(character) != "Cn":
        return True
    if unicodedata.category(character) == "Cn" or unicodedata.combining(character):
        return False
    return not unicodedata.decomposition(character) and character not in _parts_of_later_characters()


@cache
def _parts_of_later_characters() -> frozenset[str]:
    """What characters that came after 3.2 are made of in NFD."""
    later = (one for one in map(chr, range(0x110000)) if unicodedata.ucd_3_2_0.category(one) == "Cn")
    parts = map(str.split, filter(None, map(unicodedata.decomposition, later)))
    return frozenset(chr(int(part, 16)) for each in parts if each[0][0] != "<" for part in each)


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
