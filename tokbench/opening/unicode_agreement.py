"""The characters that a library and our kernel put into the same class, so that split patterns match alike.

Split patterns ask for letters, marks, digits and white space; NFC has tables of its own, and makes other characters.

Most are not asked about: an assigned character that Unicode 3.2 of 2002 and the kernel's tables put into
the same class has been in no other one in between, and every library is from in between. (Python has the
tables of 3.2; `tests/parity` asks the installed libraries about every such character.)
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any

from tokbench.core.canonical_parts import (
    VOWELS_AND_TRAILS,
    canonical_parts,
    characters_with_parts,
    wholes_with,
)
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
        nfc: whether the text is also brought to NFC, or another normal form, as `tokenizers` does it. Of a text that is
            covered, the NFC is, too.
        becomes: character → itself and all that may stand in the normal form of a text because of it; None where that
            is what it may be in NFC.
        further: characters → those of them that are disputed for another reason; also asked about ASCII.
    """

    def __init__(
        self,
        members: Callable[[str, str], str],
        *,
        kernel: str,
        nfc: bool,
        becomes: Callable[[str], frozenset[str]] | None = None,
        further: Callable[[set[str]], set[str]] | None = None,
    ) -> None:
        self._members = members
        self._kernel = kernel
        self._nfc = nfc
        self._becomes = becomes
        self._further = further
        settled = only_ascii()
        for character in set() if further is None else further(set(map(chr, range(128)))):
            settled[ord(character)] = 0
        super().__init__(settled, unmarked=unmarked_of(kernel))

    def disputed_among(self, characters: set[str]) -> set[str]:
        """Those of some characters that the two put into different classes, or that are disputed for another reason."""
        if not self._nfc:
            return self._disputed_as_they_are(characters)
        made = self._made_of(characters)
        disputed = self._disputed_as_they_are(characters.union(*made.values()))
        return {
            character
            for character in characters
            if character in disputed
            or not _is_settled_in_nfc(character, kernel=self._kernel)
            or not disputed.isdisjoint(made.get(character, ()))
        }

    def _made_of(self, characters: set[str]) -> dict[str, frozenset[str]]:
        if self._becomes is not None:
            return {character: self._becomes(character) for character in characters}
        return {character: _may_become(character) for character in characters & characters_with_parts()}

    def _disputed_as_they_are(self, characters: set[str]) -> set[str]:
        classes = classes_here(characters, kernel=self._kernel)
        asked = "".join(sorted(one for one, number in classes.items() if not is_settled(one, number)))
        disputed: set[str] = set()
        for number, each in enumerate(CLASSES if asked else (), start=1):
            ours = {character for character in asked if classes[character] == number}
            disputed |= ours ^ set(self._members(each, asked))
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


def _may_become(character: str) -> frozenset[str]:
    r"""What may be in the NFC of a text because a character is in the text.

    >>> _may_become("\u212b") > {"A", "\u030a", "\u00e5"}, _may_become("\u0301") > {"\u0301", "\u00e9"}
    (True, True)
    """
    parts = unicodedata.normalize("NFD", character)
    wholes = [wholes_with(part) for part in parts]
    if ord(character) in VOWELS_AND_TRAILS:
        wholes.append(_syllables())
    return frozenset({character, *parts}).union(*wholes)


@cache
def _syllables() -> frozenset[str]:
    return frozenset(map(chr, range(0xAC00, 0xD7A4)))


def _is_settled_in_nfc(character: str, *, kernel: str) -> bool:
    """Whether `tokenizers`, Python and the kernel normalize a character in the same way.

    By Unicode's stability policy all do for what was assigned in 3.2. Later characters count where NFC has nothing
    to do with them, so that who does not know them leaves them alone, too: they are not part of others. Of later marks
    that are put into an order the library is asked.
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
    """What characters that came after 3.2 are made of in NFD."""
    return frozenset(
        part
        for one, parts in canonical_parts().items()
        if unicodedata.ucd_3_2_0.category(one) == "Cn"
        for part in parts
    )


def _is_ordered_alike(mark: str, *, kernel: str) -> bool:
    """Whether a mark has its place among those of all other classes, and beside one of its own, in all tables alike."""
    others = _marks_by_class()
    if unicodedata.combining(mark) not in others:
        return False
    text = "".join(f"a{mark}{other}a{other}{mark}" for other in others.values())
    made = {unicodedata.normalize("NFC", text), _tokenizers_nfc().normalize_str(text)}
    if kernel == "native":
        from tokbench.native import _bpe

        made.add(_bpe.nfc(text))
    return len(made) == 1


@cache
def _marks_by_class() -> dict[int, str]:
    """A mark of each class that marks of these blocks had in Unicode 3.2."""
    marks = {unicodedata.ucd_3_2_0.combining(each): each for each in map(chr, range(0x300, 0x3100))}
    return {number: each for number, each in marks.items() if number}


def tokenizers_members(each: str, text: str) -> str:
    """The characters of a text that Oniguruma, as `tokenizers` has it, finds in a class."""
    return "".join(piece for piece, _ in _tokenizers_split(each).pre_tokenize_str(text))


def tiktoken_members(each: str, text: str) -> str:
    """The characters of a text that the expressions of `tiktoken` find in a class."""
    return _tiktoken_finder(each).decode(_tiktoken_finder(each).encode_ordinary(text))


@cache
def _tokenizers_nfc() -> Any:
    from tokenizers.normalizers import NFC

    return NFC()


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
