"""The rules by which tokenizer classes of `transformers` change a text before a SentencePiece model encodes it.

Source: `tokenization_siglip.py`, `tokenization_gpt_sw3.py` and `tokenization_deberta_v2.py` in transformers 4 and 5.
"""

from __future__ import annotations

import re
import string
import unicodedata
from functools import partial
from typing import TYPE_CHECKING, Any

from tokbench.formats.sentencepiece.model import SPACE
from tokbench.libraries.sentencepiece.changed import TextRules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tokbench.libraries.sentencepiece.changed import Origin

Placed = tuple[str, int, int]
"""A character of a changed text, with the start and stop of its origin."""

_PUNCTUATION = frozenset(string.punctuation)
_NO_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))
_WHITE_SPACE = re.compile(r"\s+")
_NOT_PRINTED = frozenset(map(chr, [*range(9), *range(11, 32), *range(127, 160), 0xA0, 0xAD, 0x200B]))
_SPACES = dict.fromkeys("\u2002\u2003\u2005\u2008\u2009\u200a\u202f\u3000\ufffc", " ")
_SW3 = str.maketrans({**_SPACES, **dict.fromkeys(_NOT_PRINTED)})


def rules_of_class(name: str | None, settings: Mapping[str, Any], *, unknown: str) -> TextRules | None:
    """Return the rules of a class, or None if it gives its model the text as it is.

    Args:
        name: the class.
        settings: the parsed tokenizer_config.json.
        unknown: the text of the unknown token.
    """
    match name:
        case "SiglipTokenizer":
            lowers = bool(settings.get("do_lower_case", True))
            parts, origins = partial(_siglip, lowers=lowers), partial(_siglip_origins, lowers=lowers)
            return TextRules(parts, origins, beginning=SPACE, guard=unknown)
        case "GPTSw3Tokenizer":
            return TextRules(_gpt_sw3, _gpt_sw3_origins)
        case "DebertaV2Tokenizer":
            lowers, cuts = (settings.get(key) is True for key in ("do_lower_case", "split_by_punct"))
            if lowers or cuts:
                parts = partial(_deberta, lowers=lowers, cuts=cuts)
                return TextRules(parts, partial(_deberta_origins, lowers=lowers, cuts=cuts))
    return None


def _siglip(text: str, *, lowers: bool) -> list[str]:
    text = text.replace(SPACE, " ")
    text = text.lower() if lowers else text
    return [_WHITE_SPACE.sub(" ", text.translate(_NO_PUNCTUATION)).strip()]


def _siglip_origins(text: str, *, lowers: bool) -> list[list[Origin]]:
    kept: list[Placed] = []
    for placed in _lowered(text.replace(SPACE, " ")) if lowers else _placed(text.replace(SPACE, " ")):
        character, start, stop = placed
        if character in _PUNCTUATION:
            continue
        if character.isspace() and kept and kept[-1][0] == " ":
            kept[-1] = (" ", kept[-1][1], stop)
        else:
            kept.append((" " if character.isspace() else character, start, stop))
    first, last = bool(kept and kept[0][0] == " "), len(kept) - bool(kept and kept[-1][0] == " ")
    return [_origins(kept[first:last])]


def _gpt_sw3(text: str) -> list[str]:
    return [unicodedata.normalize("NFC", text.translate(_SW3))]


def _gpt_sw3_origins(text: str) -> list[list[Origin]]:
    kept = [
        (_SPACES.get(character, character), start, stop)
        for character, start, stop in _placed(text)
        if character not in _NOT_PRINTED
    ]
    return [_origins(_composed(kept))]


def _deberta(text: str, *, lowers: bool, cuts: bool) -> list[str]:
    text = "".join(character.lower() for character in text) if lowers else text
    return ["".join(word) for word in _words(text)] if cuts else [text]


def _deberta_origins(text: str, *, lowers: bool, cuts: bool) -> list[list[Origin]]:
    placed = list(_lowered(text) if lowers else _placed(text))
    words = _words([character for character, _, _ in placed]) if cuts else [placed]
    rest = iter(placed)
    return [_origins(next(rest) for _ in word) for word in words]


def _words(characters: Iterable[str]) -> list[list[str]]:
    """Cut characters into words at punctuation, each mark of which is a word of its own."""
    words: list[list[str]] = []
    is_begun = False
    for character in characters:
        is_mark = character in _PUNCTUATION or unicodedata.category(character).startswith("P")
        if is_mark or not is_begun:
            words.append([])
        words[-1].append(character)
        is_begun = not is_mark
    return words


def _placed(text: str) -> Iterator[Placed]:
    return ((character, place, place + 1) for place, character in enumerate(text))


def _lowered(text: str) -> Iterator[Placed]:
    return ((lower, place, place + 1) for place, character in enumerate(text) for lower in character.lower())


def _composed(placed: list[Placed]) -> Iterator[Placed]:
    """Yield the characters of NFC; those of a run that changes have the origin of the whole run."""
    start = 0
    for stop in range(1, len(placed) + 1):
        if stop < len(placed) and not _may_begin(placed, start, stop):
            continue
        run = placed[start:stop]
        before = "".join(character for character, _, _ in run)
        after = unicodedata.normalize("NFC", before)
        if after == before:
            yield from run
        else:
            yield from ((character, run[0][1], run[-1][2]) for character in after)
        start = stop


def _may_begin(placed: list[Placed], start: int, stop: int) -> bool:
    """Whether the character at `stop` begins a new run: a starter that does not compose with the run from `start`."""
    last, following = placed[stop - 1][0], placed[stop][0]
    if last < "\u0300" and following < "\u0300":
        return True
    if unicodedata.combining(unicodedata.normalize("NFD", following)[0]):
        return False
    before = "".join(character for character, _, _ in placed[start:stop])
    alone = unicodedata.normalize("NFC", before) + unicodedata.normalize("NFC", following)
    return unicodedata.normalize("NFC", before + following) == alone


def _origins(placed: Iterable[Placed]) -> list[Origin]:
    return [(start, stop) for _, start, stop in placed]
