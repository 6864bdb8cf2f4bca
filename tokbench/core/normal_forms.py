"""Normal forms of Unicode: NFC by one version of it, whatever version Python has, and canonical decompositions."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from functools import cache
from itertools import chain

_LATER = (
    "\u05c8-\u05c9\u0897\u1acf-\u1af0\U000105c9\U000105d2\U000105da\U000105e4\U00010d69-\U00010d6d"
    "\U00010ecb-\U00010ecf\U00010ef0-\U00010efb\U00010efd-\U00010eff\U00011382-\U00011385\U0001138b\U0001138e"
    "\U00011390-\U00011391\U000113b8\U000113bb\U000113c2\U000113c5\U000113c7-\U000113c9\U000113ce-\U000113d0"
    "\U00011f41-\U00011f42\U0001611e-\U00016129\U0001612f\U00016d63\U00016d67-\U00016d6a"
    "\U0001d127-\U0001d128\U0001d250-\U0001d252\U0001d25b-\U0001d25c\U0001d25f\U0001d280-\U0001d281\U0001e08f"
    "\U0001e4ec-\U0001e4ef\U0001e5ee-\U0001e5ef\U0001e6e3\U0001e6e6\U0001e6ee-\U0001e6ef\U0001e6f5"
)
"""Characters of Unicode 15 to 18 that have a combining class or compose with other characters."""


def nfc(text: str) -> str:
    r"""Normalize to NFC by Unicode 14, the version of the kernel's tables; later characters stay as they are.

    In Unicode 14 these are unassigned starters that compose with nothing, so the text before and after such a
    character is normalized separately.

    >>> nfc("e\u0301"), nfc("a\u0301\U0001e08f\u0323") == "á\U0001e08f\u0323"
    ('é', True)
    """
    if text.isascii():
        return text
    if unicodedata.unidata_version == "14.0.0":
        return unicodedata.normalize("NFC", text)
    return "".join(unicodedata.normalize("NFC", part) for part in _later_characters().split(text))


def is_later(character: str) -> bool:
    r"""Whether a character that NFC may reorder or compose is newer than Unicode 14.

    >>> is_later("\U0001e08f"), is_later("\u0301")
    (True, False)
    """
    return _later_characters().fullmatch(character) is not None


@cache
def _later_characters() -> re.Pattern[str]:
    return re.compile(f"([{_LATER}])")


VOWELS_AND_TRAILS = range(0x1160, 0x1200)
"""Jamo that may join the syllable before them."""

_DECOMPOSED = ((0xC0, 0x3400), (0xA000, 0xAC00), (0xF900, 0x20000), (0x2F800, 0x30000))
"""Where characters decompose: between these, and from U+30000 on, are unified ideographs and Hangul syllables."""


@cache
def canonical_parts() -> dict[str, tuple[str, ...]]:
    """Map each character that has a canonical decomposition to its one or two parts.

    >>> canonical_parts()["é"]
    ('e', '\u0301')
    """
    blocks = (range(start, start + 64) for first, after in _DECOMPOSED for start in range(first, after, 64))
    texts = ("".join(map(chr, block)) for block in blocks)
    # Asking about a block at once takes a twentieth of the time: nearly all of them have none.
    characters = chain.from_iterable(text for text in texts if unicodedata.normalize("NFD", text) != text)
    return {
        character: tuple(chr(int(part, 16)) for part in parts.split())
        for character in characters
        if (parts := unicodedata.decomposition(character)) and not parts.startswith("<")
    }


def wholes_with(second: str) -> frozenset[str]:
    """Return the characters whose decomposition has `second` as its second part.

    >>> "é" in wholes_with("\u0301"), wholes_with("a")
    (True, frozenset())
    """
    return _wholes().get(second, frozenset())


@cache
def characters_with_parts() -> frozenset[str]:
    """Return the characters that decompose, or may compose with the character before them; no Hangul syllables."""
    return frozenset({*canonical_parts(), *_wholes(), *map(chr, VOWELS_AND_TRAILS)})


@cache
def _wholes() -> dict[str, frozenset[str]]:
    wholes: defaultdict[str, set[str]] = defaultdict(set)
    for whole, parts in canonical_parts().items():
        if len(parts) == 2:
            wholes[parts[1]].add(whole)
    return {second: frozenset(characters) for second, characters in wholes.items()}
