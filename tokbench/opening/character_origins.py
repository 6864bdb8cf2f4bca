"""Which character of a text each character of its normalized form is from, as `tokenizers` keeps account of it.

Its offsets of tokens are made of that. Every step here says of a text, for each character that the step makes of it,
the number of the character that it is from. The library's are in tokenizer/normalizer.rs (`transform_range`, by which
normal forms and all else change texts) and in the crate unicode-normalization-alignments (decompose.rs, recompose.rs).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Origins = Sequence[int]
    FindsOrigins = Callable[[str], Origins]


class Made(NamedTuple):
    """A character that a normal form makes.

    Attributes:
        character: itself.
        change: how many characters there are more for it than before: 1 if it was put in after another one, 0 if it
            stands for one, less if it stands for several.
    """

    character: str
    change: int


def of_each(step: Callable[[str], str]) -> FindsOrigins:
    """Of a step that makes something of each character by itself.

    >>> list(of_each(str.upper)("aßc"))
    [0, 1, 1, 2]
    """

    def origins(text: str) -> Origins:
        sizes = {character: len(step(character)) for character in set(text)}
        return list(chain.from_iterable([place] * sizes[one] for place, one in enumerate(text)))

    return origins


def of_normal_form(form: str) -> FindsOrigins:
    r"""Of one of Unicode's normal forms.

    >>> list(of_normal_form("NFD")("\u00e9\u0323")), list(of_normal_form("NFC")("xe\u0301y"))  # e, dot below, acute
    ([0, 1, 1], [0, 1, 3])
    """
    decomposition = _decomposed if form in ("NFC", "NFD") else _decomposed_by_compatibility
    composes = form in ("NFC", "NFKC")

    def origins(text: str) -> Origins:
        if text.isascii():
            return range(len(text))
        found: list[int] = []
        end = 0
        for run in _MOVING.finditer(text):
            found += range(end, run.start())
            made = _ordered(decomposition, run.group())
            found += _followed(_composed(made) if composes else made, first=run.start())
            end = run.end()
        return [*found, *range(end, len(text))]

    return origins


def of_replaced(pattern: re.Pattern[str], content: str) -> FindsOrigins:
    """Of a step that replaces what a pattern matches: what is put in is from the last character that it replaces.

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
    """Of a step that puts something in front of a text: it is from its first character."""
    return lambda text: [0] * len(prefix) + [*range(len(text))] if text else []


def of_stripped(step: Callable[[str], str], *, left: bool) -> FindsOrigins:
    """Of a step that takes characters away from the ends of a text, at the `left` one or not."""

    def origins(text: str) -> Origins:
        kept = step(text)
        first = text.find(kept) if left and kept else 0
        return range(first, first + len(kept))

    return origins


# --- normal forms -----------------------------------------------------------------------------

_MOVING = re.compile("[\0-\x7f]?[^\0-\x7f]+")
"""Runs outside of which nothing happens: ASCII composes with nothing but what stands after it."""


@lru_cache(maxsize=1 << 14)
def _decomposed(character: str) -> str:
    return unicodedata.normalize("NFD", character)


@lru_cache(maxsize=1 << 14)
def _decomposed_by_compatibility(character: str) -> str:
    return unicodedata.normalize("NFKD", character)


@lru_cache(maxsize=1 << 14)
def _whole_of(first: str, second: str) -> str | None:
    """What two characters become together."""
    made = unicodedata.normalize("NFC", first + second)
    return made if len(made) == 1 else None


def _ordered(decomposition: Callable[[str], str], text: str) -> Iterator[Made]:
    """What a text is made of, with marks in their order."""
    marks: list[Made] = []
    for character in text:
        for place, part in enumerate(decomposition(character)):
            made = Made(part, 1 if place else 0)
            if unicodedata.combining(part):
                marks.append(made)
                continue
            yield from sorted(marks, key=_class_of)
            marks = []
            yield made
    yield from sorted(marks, key=_class_of)


def _class_of(made: Made) -> int:
    return unicodedata.combining(made.character)


def _composed(parts: Iterator[Made]) -> Iterator[Made]:
    """What such parts become together: a whole stands for as many characters as its parts do."""
    starter: Made | None = None
    marks: list[Made] = []
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
            starter = Made(whole, starter.change + part.change - 1)
        elif number:
            marks.append(part)
        else:
            yield starter
            yield from marks
            starter, marks = part, []
    if starter is not None:
        yield starter
        yield from marks


def _followed(made: Iterator[Made], *, first: int) -> Iterator[int]:
    """The origins of characters, the first of which stands for the character of that number."""
    next_one = first
    for _, change in made:
        if change > 0:
            yield max(next_one - 1, 0)
        else:
            yield next_one
            next_one += 1 - change
