"""Vocabulary usage: the tokens of a vocabulary by kind (script, digits, bytes …)."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokbench.corpus.scripts import COMMON, script_of_letter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tokbench.metrics.vocabulary import Vocabulary

SPECIAL, BYTES, SPACE, DIGITS, SIGNS, MIXED, CONTROLS = (
    "special tokens",
    "bytes and parts of characters",
    "white space",
    "digits",
    "punctuation and symbols",
    "letters of several scripts",
    "controls and unassigned",
)
_LETTER = re.compile("[A-Za-z]")
_WORD_MARKS = str.maketrans({"▁": " "})
_JOINERS = str.maketrans(dict.fromkeys("\u200c\u200d"))
"""Joiners, which are part of words in many scripts, and of emoji."""


@dataclass(frozen=True, slots=True)
class VocabularyPart:
    """The tokens of one kind.

    Attributes:
        kind: a script, or one of the names above.
        tokens: number of such tokens in the vocabulary.
        used: number of such tokens that occurred.
        occurrences: number of their occurrences.
    """

    kind: str
    tokens: int
    used: int
    occurrences: int


def vocabulary_usage_of(vocabulary: Vocabulary, frequencies: NDArray[np.int64]) -> tuple[VocabularyPart, ...]:
    """Count the tokens by kind, the largest kind first."""
    ids_by_kind: dict[str, list[int]] = {}
    for id, kind in enumerate(_kinds(vocabulary)):
        ids_by_kind.setdefault(kind, []).append(id)
    found = (
        VocabularyPart(
            kind=kind,
            tokens=len(ids),
            used=int(np.count_nonzero(frequencies[ids])),
            occurrences=int(frequencies[ids].sum()),
        )
        for kind, ids in ids_by_kind.items()
    )
    return tuple(sorted(found, key=lambda part: (-part.tokens, part.kind)))


def _kinds(vocabulary: Vocabulary) -> Iterator[str]:
    for id, piece in enumerate(vocabulary.pieces):
        if vocabulary.special[id] or piece is None:
            yield SPECIAL
        elif vocabulary.incomplete[id]:
            yield BYTES
        else:
            yield kind_of(piece.decode())


def kind_of(text: str) -> str:
    r"""Return the kind of a token that is valid text.

    >>> kind_of(" the"), kind_of("  "), kind_of("2024"), kind_of("!="), kind_of("aб")
    ('Latin', 'white space', 'digits', 'punctuation and symbols', 'letters of several scripts')
    >>> kind_of("می\u200cشود"), kind_of("\u200d")
    ('Arabic', 'controls and unassigned')
    """
    plain = text.translate(_WORD_MARKS).strip()
    if not plain:
        return SPACE
    if plain.isascii():
        return _kind_of_ascii(plain)
    plain = plain.translate(_JOINERS) or plain
    if any(unicodedata.category(character)[0] == "C" for character in plain):
        return CONTROLS
    scripts = {script_of_letter(character) for character in plain} - {COMMON}
    if len(scripts) == 1:
        return scripts.pop()
    if scripts:
        return MIXED
    return DIGITS if plain.isdigit() else SIGNS


def _kind_of_ascii(plain: str) -> str:
    """Return the kind of an ASCII token without a loop over its characters: most tokens are ASCII."""
    if not plain.isprintable():
        return CONTROLS
    if _LETTER.search(plain):
        return "Latin"
    return DIGITS if plain.isdigit() else SIGNS
