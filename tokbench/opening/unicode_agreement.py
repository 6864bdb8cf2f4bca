"""Find characters that a library and our kernel classify differently, so that split patterns might match differently.

Split patterns use letters, marks, digits and white space; NFC has tables of its own and produces other characters.

Most characters need no check: an assigned character that has the same class in Unicode 3.2, of 2002, and in the
kernel's tables never had another one in between, and every library's tables date from that time. (Python includes the
tables of 3.2; `tests/parity` checks every such character with the installed libraries.) `stable_classes.py` lists
others whose class is the same in all tables that a supported library may have.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any

from tokbench.core.character_agreement import CharacterAgreement, only_ascii, unmarked_in_python
from tokbench.core.normal_forms import (
    VOWELS_AND_TRAILS,
    canonical_parts,
    characters_with_parts,
    wholes_with,
)
from tokbench.opening.stable_classes import stable_class

if TYPE_CHECKING:
    from collections.abc import Callable

    import tiktoken
    from tokenizers.pre_tokenizers import Split

CLASSES = (r"[\p{Lu}\p{Lt}]", r"\p{Ll}", r"[\p{Lm}\p{Lo}]", r"\p{M}", r"\p{N}", r"\s")
"""The classes used by the named patterns, in the order of the kernel's class numbers, from 1."""

CLASS_OF_CATEGORY = {
    category: number
    for number, categories in enumerate(("Lu Lt", "Ll", "Lm Lo", "Mn Mc Me", "Nd Nl No", "Zs Zl Zp"), start=1)
    for category in categories.split()
}
"""The category of a letter, mark, digit or white space → its class number. White space has more members than the last
three categories: white space control characters are not settled by these."""


class UnicodeAgreement(CharacterAgreement):
    """A check whether a library and the kernel agree on every character of a text.

    Args:
        members: (class, text) → the characters of the text that the library puts into the class.
        kernel: the name of the kernel in use.
        nfc: whether the text is also normalized to NFC, or another normal form, as `tokenizers` does it. The NFC of a
            covered text is covered, too.
        becomes: characters → for each that may become others, itself and all characters that may occur in the normal
            form of a text because of it; None to compute this for NFC.
        further: returns the characters that are disputed for another reason; also called with the ASCII characters.
    """

    def __init__(
        self,
        members: Callable[[str, str], str],
        *,
        kernel: str,
        nfc: bool,
        becomes: Callable[[set[str]], dict[str, frozenset[str]]] | None = None,
        further: Callable[[set[str]], set[str]] | None = None,
    ) -> None:
        self._members = members
        self._kernel = kernel
        self._nfc = nfc
        self._becomes = becomes
        self._further = further
        self._asked_further: set[str] = set()
        self._disputed_further: set[str] = set()
        settled = only_ascii()
        for character in set() if further is None else further(set(map(chr, range(128)))):
            settled[ord(character)] = 0
        super().__init__(settled, unmarked=unmarked_of(kernel))

    def disputed_among(self, characters: set[str]) -> set[str]:
        """Return the characters that library and kernel classify differently, or that another reason disputes."""
        if not self._nfc:
            return self._disputed_as_they_are(characters)
        normal_characters = self._normal_characters(characters)
        disputed = self._disputed_as_they_are(characters.union(*normal_characters.values()))
        return {
            character
            for character in characters
            if character in disputed
            or not _is_settled_in_nfc(character, kernel=self._kernel)
            or not disputed.isdisjoint(normal_characters.get(character, ()))
        }

    def _normal_characters(self, characters: set[str]) -> dict[str, frozenset[str]]:
        if self._becomes is not None:
            return self._becomes(characters)
        return {character: may_become(character) for character in characters & characters_with_parts()}

    def _disputed_as_they_are(self, characters: set[str]) -> set[str]:
        classes = classes_here(characters, kernel=self._kernel)
        unsettled = "".join(
            sorted(character for character, number in classes.items() if not is_settled(character, number))
        )
        disputed: set[str] = set()
        for number, pattern in enumerate(CLASSES if unsettled else (), start=1):
            ours = {character for character in unsettled if classes[character] == number}
            disputed |= ours ^ set(self._members(pattern, unsettled))
        return disputed | self._disputed_for_another_reason(characters)

    def _disputed_for_another_reason(self, characters: set[str]) -> set[str]:
        """Ask once about each character: what those of many texts may become are the same ones."""
        if self._further is None:
            return set()
        if new := characters - self._asked_further:
            self._disputed_further |= self._further(new)
            self._asked_further |= new  # last, because other threads take these as known
        return self._disputed_further & characters


def unmarked_of(kernel: str) -> Callable[[list[str], bytearray, int], str]:
    """Return a kernel's function that finds characters without a mark, as `CharacterAgreement` takes it."""
    if kernel != "native":
        return unmarked_in_python
    from tokbench.native import _bpe

    return _bpe.unmarked


def classes_here(characters: set[str], *, kernel: str) -> dict[str, int]:
    """Return the class number of each character in the kernel in use; 0 for none."""
    if kernel == "native":
        from tokbench.native import _bpe

        return {character: _bpe.class_of(ord(character)) for character in characters}
    import regex

    found = {
        character: number
        for number, pattern in enumerate(CLASSES, start=1)
        for character in regex.findall(pattern, "".join(characters))
    }
    return {character: found.get(character, 0) for character in characters}


def is_settled(character: str, number: int) -> bool:
    r"""Whether a character has had this class number (0 for no class) in the Unicode tables of every year.

    >>> [is_settled(*one) for one in [("字", 3), ("字", 2), ("€", 0), ("͸", 0)]]  # the last is unassigned
    [True, False, True, False]
    """
    if number != CLASS_OF_CATEGORY.get(unicodedata.ucd_3_2_0.category(character), 0):
        return number == stable_class(ord(character))
    return number != 0 or unicodedata.category(character) != "Cn"


def may_become(character: str) -> frozenset[str]:
    r"""Return all characters that may occur in the NFC of a text because it contains a character.

    >>> may_become("\u212b") > {"A", "\u030a", "\u00e5"}, may_become("\u0301") > {"\u0301", "\u00e9"}
    (True, True)
    """
    parts = unicodedata.normalize("NFD", character)
    wholes = [wholes_with(part) for part in parts]
    if ord(character) in VOWELS_AND_TRAILS:
        wholes.append(syllables())
    return frozenset({character, *parts}).union(*wholes)


def all_may_become(characters: set[str]) -> set[str]:
    r"""Return all characters that may occur in the NFC of a text because it contains some of these.

    >>> all_may_become({"\u212b", "x"}) == {"x", *may_become("\u212b")}
    True
    """
    composed = characters & characters_with_parts()
    parts = unicodedata.normalize("NFD", "".join(characters & syllables()))
    return characters.union(*map(may_become, composed), parts)


@cache
def syllables() -> frozenset[str]:
    """Return the Hangul syllables, which decompose without being listed anywhere."""
    return frozenset(map(chr, range(0xAC00, 0xD7A4)))


def _is_settled_in_nfc(character: str, *, kernel: str) -> bool:
    """Whether `tokenizers`, Python and the kernel normalize a character in the same way.

    By Unicode's stability policy all agree on characters assigned in 3.2. Later characters are settled if NFC neither
    decomposes nor composes them, so that a library without them in its tables leaves them alone, too. For later marks
    that take part in ordering, the library is asked.
    """
    if unicodedata.ucd_3_2_0.category(character) != "Cn":
        return True
    if unicodedata.category(character) == "Cn" or unicodedata.decomposition(character):
        return False
    if character in _parts_of_later_characters():
        return False
    return unicodedata.combining(character) == 0 or _is_ordered_alike(character, kernel=kernel)


@cache
def _parts_of_later_characters() -> frozenset[str]:
    """Return the parts that characters added after 3.2 have in NFD."""
    return frozenset(
        part
        for character, parts in canonical_parts().items()
        if unicodedata.ucd_3_2_0.category(character) == "Cn"
        for part in parts
    )


def _is_ordered_alike(mark: str, *, kernel: str) -> bool:
    """Whether all tables order a mark alike, among marks of every other class and beside one of its own."""
    others = _marks_by_class()
    if unicodedata.combining(mark) not in others:
        return False
    text = "".join(f"a{mark}{other}a{other}{mark}" for other in others.values())
    results = {unicodedata.normalize("NFC", text), _tokenizers_nfc().normalize_str(text)}
    if kernel == "native":
        from tokbench.native import _bpe

        results.add(_bpe.nfc(text))
    return len(results) == 1


@cache
def _marks_by_class() -> dict[int, str]:
    """Return one mark for each combining class in Unicode 3.2, from these blocks."""
    marks = {unicodedata.ucd_3_2_0.combining(mark): mark for mark in map(chr, range(0x300, 0x3100))}
    return {number: mark for number, mark in marks.items() if number}


def tokenizers_members(pattern: str, text: str) -> str:
    """Return the characters of a text that Oniguruma, as used by `tokenizers`, puts into a class."""
    return "".join(piece for piece, _ in _tokenizers_split(pattern).pre_tokenize_str(text))


def tiktoken_members(pattern: str, text: str) -> str:
    """Return the characters of a text that the regular expressions of `tiktoken` put into a class."""
    return _tiktoken_finder(pattern).decode(_tiktoken_finder(pattern).encode_ordinary(text))


@cache
def _tokenizers_nfc() -> Any:
    from tokenizers.normalizers import NFC

    return NFC()


@cache
def _tokenizers_split(pattern: str) -> Split:
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    return Split(Regex(pattern), "removed", invert=True)


@cache
def _tiktoken_finder(pattern: str) -> tiktoken.Encoding:
    import tiktoken

    every_byte = {bytes([byte]): byte for byte in range(256)}
    return tiktoken.Encoding("class", pat_str=pattern, mergeable_ranks=every_byte, special_tokens={})
