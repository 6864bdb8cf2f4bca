"""Find the original character of each character of a normalized text, as `tokenizers` tracks it.

The library's token offsets are derived from this. For each step, a function returns the index of the original character
of each character of the step's result. The library's code is in tokenizer/normalizer.rs (`transform_range`, through
which normal forms and all other steps change texts) and in the crate unicode-normalization-alignments (decompose.rs,
recompose.rs).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tokbench.opening.still_characters import NormalForm

    Origins = Sequence[int]
    FindsOrigins = Callable[[str], Origins]


class NormalCharacter(NamedTuple):
    """A character that a normal form produces.

    Attributes:
        character: the character.
        change: the number of characters that it adds to the text: 1 if it was inserted after another one, 0 if it
            replaces one character, negative if it replaces several.
    """

    character: str
    change: int


def of_each(step: Callable[[str], str]) -> FindsOrigins:
    """Return the origins function of a step that maps each character by itself.

    >>> list(of_each(str.upper)("aßc"))
    [0, 1, 1, 2]
    """

    def origins(text: str) -> Origins:
        sizes = {character: len(step(character)) for character in set(text)}
        return list(chain.from_iterable([place] * sizes[character] for place, character in enumerate(text)))

    return origins


def of_normal_form(form: str) -> FindsOrigins:
    r"""Return the origins function of one of Unicode's normal forms.

    >>> list(of_normal_form("NFD")("\u00e9\u0323")), list(of_normal_form("NFC")("xe\u0301y"))  # e, dot below, acute
    ([0, 1, 1], [0, 1, 3])
    """
    decomposed: NormalForm = "NFD" if form in ("NFC", "NFD") else "NFKD"
    decomposition = lru_cache(maxsize=1 << 14)(partial(unicodedata.normalize, decomposed))
    composes = form in ("NFC", "NFKC")

    def origins(text: str) -> Origins:
        if text.isascii():
            return range(len(text))
        found: list[int] = []
        end = 0
        for run in _MOVING.finditer(text):
            found += range(end, run.start())
            parts = _ordered(decomposition, run.group())
            found += _followed(_composed(parts) if composes else parts, first=run.start())
            end = run.end()
        return [*found, *range(end, len(text))]

    return origins


def of_replaced(pattern: re.Pattern[str], content: str) -> FindsOrigins:
    """Return the origins function of a replacement: inserted text comes from the last character that it replaces.

    >>> list(of_replaced(re.compile("b+"), "xyz")("abbc"))
    [0, 2, 2, 2, 3]
    """

    def origins(text: str) -> Origins:
        if pattern.search(text) is None:
            return range(len(text))
        found: list[int] = []
        end = 0
        for match in pattern.finditer(text):
            found += range(end, match.start())
            found += [match.end() - 1] * len(content)
            end = match.end()
        return [*found, *range(end, len(text))]

    return origins


def of_prepended(prefix: str) -> FindsOrigins:
    """Return the origins function of a step that prepends text: the prefix comes from the first character."""
    return lambda text: [0] * len(prefix) + [*range(len(text))] if text else []


def of_stripped(step: Callable[[str], str], *, left: bool) -> FindsOrigins:
    """Return the origins function of a step that strips the ends of a text, the left one if `left`."""

    def origins(text: str) -> Origins:
        kept = step(text)
        first = text.find(kept) if left and kept else 0
        return range(first, first + len(kept))

    return origins


# --- normal forms -----------------------------------------------------------------------------

_MOVING = re.compile("[\0-\x7f]?[^\0-\x7f]+")
"""Runs that normal forms may change: ASCII composes only with characters after it."""


@lru_cache(maxsize=1 << 14)
def _whole_of(first: str, second: str) -> str | None:
    """Return the composition of two characters, or None."""
    whole = unicodedata.normalize("NFC", first + second)
    return whole if len(whole) == 1 else None


def _ordered(decomposition: Callable[[str], str], text: str) -> Iterator[NormalCharacter]:
    """Yield the decomposition of a text, with marks in canonical order."""
    marks: list[NormalCharacter] = []
    for character in text:
        for place, part in enumerate(decomposition(character)):
            result = NormalCharacter(part, 1 if place else 0)
            if unicodedata.combining(part):
                marks.append(result)
                continue
            yield from sorted(marks, key=_class_of)
            marks = []
            yield result
    yield from sorted(marks, key=_class_of)


def _class_of(part: NormalCharacter) -> int:
    return unicodedata.combining(part.character)


def _composed(parts: Iterator[NormalCharacter]) -> Iterator[NormalCharacter]:
    """Yield the composition of these parts: a composed character stands for as many characters as its parts do."""
    starter: NormalCharacter | None = None
    marks: list[NormalCharacter] = []
    for part in parts:
        number = _class_of(part)
        if starter is None:
            if number:
                yield part
            else:
                starter = part
            continue
        is_blocked = bool(marks) and _class_of(marks[-1]) >= number
        whole = None if is_blocked else _whole_of(starter.character, part.character)
        if whole is not None:
            starter = NormalCharacter(whole, starter.change + part.change - 1)
        elif number:
            marks.append(part)
        else:
            yield starter
            yield from marks
            starter, marks = part, []
    if starter is not None:
        yield starter
        yield from marks


def _followed(parts: Iterator[NormalCharacter], *, first: int) -> Iterator[int]:
    """Yield the origins of characters, the first of which stands for the original character at index `first`."""
    next_index = first
    for _, change in parts:
        if change > 0:
            yield max(next_index - 1, 0)
        else:
            yield next_index
            next_index += 1 - change
