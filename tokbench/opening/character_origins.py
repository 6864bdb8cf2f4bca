"""Find the original character of each character of a normalized text, as `tokenizers` tracks it.

The library's token offsets are derived from this. For each step, a function returns the index of the original character
of each character of the step's result. The library's code is in tokenizer/normalizer.rs (`transform_range`, through
which normal forms and all other steps change texts) and in the crate unicode-normalization-alignments (decompose.rs,
recompose.rs).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokbench.backends.bpe.kernel import has_native_kernel
from tokbench.core.character_agreement import NUM_CODE_POINTS
from tokbench.core.token_arrays import character_offsets, offsets_of
from tokbench.opening.character_changes import ChangesByNeed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.opening.still_characters import NormalForm

    Origins = range | NDArray[np.int64]
    """The original character of each character; a range where text is only left out at the ends."""
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


_MOST_SIZES = 16
"""Characters whose places are found one after another; for more, a table of all code points is faster."""


def of_each(step: Callable[[str], str], *, changed: Callable[[str], Iterable[str]] = set) -> FindsOrigins:
    """Return the origins function of a step that maps each character by itself.

    Args:
        step: the step.
        changed: returns the characters of a text that the step changes, and perhaps others of it, each once.

    >>> of_each(str.upper)("aßc").tolist()
    [0, 1, 1, 2]
    """
    return lambda text: _of_sizes(text, _sizes(step, changed(text)))


def of_table(step: Callable[[str], str], *, changed: Callable[[str], Iterable[str]] = set) -> FindsOrigins:
    """Return the same for a table of replacements that is applied to each character by itself.

    A character that is left out belongs to the one before it, if there is one: the places of all others follow from
    that.

    >>> of_table(lambda text: text.replace("b", "").replace("c", "xy"))("abcd").tolist()
    [0, 2, 2, 3]
    """

    def origins(text: str) -> Origins:
        sizes = _sizes(step, changed(text))
        if 0 not in sizes.values():
            return _of_sizes(text, sizes)
        counts = _counts(text, sizes)
        ends = np.cumsum(counts)
        changes = np.ones(ends[-1], np.int64)
        changes[(ends - counts)[counts > 0]] = 0
        before_left_out = ends[counts == 0] - 1
        np.subtract.at(changes, before_left_out[before_left_out >= 0], 1)
        return _followed(changes)

    return origins


def _sizes(step: Callable[[str], str], characters: Iterable[str]) -> dict[int, int]:
    """Return the number of characters that each code point becomes, where it is not one."""
    made = ((ord(character), len(step(character))) for character in characters)
    return {code: size for code, size in made if size != 1}


def _of_sizes(text: str, sizes: Mapping[int, int]) -> Origins:
    return np.repeat(np.arange(len(text)), _counts(text, sizes)) if sizes else range(len(text))


def _counts(text: str, sizes: Mapping[int, int]) -> NDArray[np.int64]:
    """Return the number of characters that each character of a text becomes."""
    code_points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    if len(sizes) > _MOST_SIZES:
        size_of = np.ones(NUM_CODE_POINTS, np.int64)
        size_of[list(sizes)] = list(sizes.values())
        return size_of[code_points]
    counts = np.ones(len(text), np.int64)
    for code, size in sizes.items():
        counts[code_points == code] = size
    return counts


def of_normal_form(form: NormalForm) -> FindsOrigins:
    r"""Return the origins function of one of Unicode's normal forms.

    >>> forms = of_normal_form("NFD"), of_normal_form("NFC")
    >>> forms[0]("\u00e9\u0323").tolist(), forms[1]("xe\u0301y").tolist()  # e, dot below, acute
    ([0, 1, 1], [0, 1, 3])
    """
    decomposed: NormalForm = "NFD" if form in ("NFC", "NFD") else "NFKD"
    decomposition = lru_cache(maxsize=1 << 14)(partial(unicodedata.normalize, decomposed))
    composes = form in ("NFC", "NFKC")
    each = cache(lambda: ChangesByNeed([partial(unicodedata.normalize, form)], (), orders=False))

    def of_part(part: str, normal: str) -> NDArray[np.int64] | None:
        """Return the origins where marks are in order and nothing is composed: each character becomes its own form."""
        is_by_character = has_native_kernel() and each().applied(part) == normal
        return each().origins(part) if is_by_character else None

    def of_run(run: str) -> NDArray[np.int64]:
        ordered = _ordered(decomposition, run)
        changes = [made.change for made in (_composed(ordered) if composes else ordered)]
        return _followed(np.array(changes, np.int64))

    def origins(text: str) -> Origins:
        normal = unicodedata.normalize(form, text)
        if normal == text:
            return range(len(text))
        if (found := of_part(text, normal)) is not None:
            return found
        parts: list[NDArray[np.int64]] = []
        end = 0
        for match in _MOVING.finditer(text):
            run = match.group()
            if (normal := unicodedata.normalize(form, run)) == run:
                continue
            found = of_part(run, normal)
            parts += [
                np.arange(end, match.start()),
                (of_run(run) if found is None else found) + match.start(),
            ]
            end = match.end()
        all_parts: NDArray[np.int64] = np.concatenate([*parts, np.arange(end, len(text))])
        return all_parts

    return origins


def of_replaced(pattern: re.Pattern[str], content: str) -> FindsOrigins:
    """Return the origins function of a replacement: inserted text comes from the last character that it replaces.

    >>> of_replaced(re.compile("b+"), "xyz")("abbc").tolist()
    [0, 2, 2, 2, 3]
    """

    def origins(text: str) -> Origins:
        matches = [match.span() for match in pattern.finditer(text)]
        if not matches:
            return range(len(text))
        starts, stops = np.array(matches, np.int64).T
        # How many characters each one becomes: the last one of a match becomes all of the new text.
        sizes = np.ones(len(text), np.int64)
        edges = np.zeros(len(text) + 1, np.int64)
        edges[starts] += 1
        edges[stops] -= 1
        sizes[np.cumsum(edges[:-1]) > 0] = 0
        sizes[stops - 1] = len(content)
        return np.repeat(np.arange(len(text)), sizes)

    return origins


def of_prepended(prefix: str) -> FindsOrigins:
    """Return the origins function of a step that prepends text: the prefix comes from the first character."""
    return lambda text: np.maximum(np.arange(-len(prefix), len(text)), 0) if text else range(0)


def of_stripped(step: Callable[[str], str], *, left: bool) -> FindsOrigins:
    """Return the origins function of a step that strips the ends of a text, the left one if `left`."""

    def origins(text: str) -> Origins:
        kept = step(text)
        first = text.find(kept) if left and kept else 0
        return range(first, first + len(kept))

    return origins


# --- spans ------------------------------------------------------------------------------------


def original_spans(
    texts: Sequence[str],
    normal: Sequence[str],
    origins: Sequence[Origins],
    *,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Map spans in normalized texts to spans in the texts, from the first original character to the last one.

    Args:
        texts: the texts.
        normal: their normalized forms.
        origins: the original character of each character of each form.
        starts: int64[N], the starts of the tokens, in bytes of the form of their text, at starts of characters. The
            span of a token that is empty begins and ends at the start of a character's first original one.
        stops: int64[N], their stops.
        counts: int64[len(texts)], the number of tokens of each text.

    >>> tokens = {"starts": np.array([0, 2]), "stops": np.array([2, 3]), "counts": np.array([2])}
    >>> [ends.tolist() for ends in original_spans(["\u00c9e"], ["\u00e9e"], [np.array([0, 1])], **tokens)]
    [[0, 2], [2, 3]]
    """
    bytes_of = character_offsets("".join(texts))
    first_characters = offsets_of(list(map(len, texts)))[:-1]
    all_origins = np.concatenate([np.zeros(0, np.int64), *origins])
    all_origins += np.repeat(first_characters, list(map(len, origins)))
    data = [form.encode() for form in normal]
    first_bytes = np.repeat(offsets_of(list(map(len, data)))[:-1], counts)
    is_empty = starts == stops
    starts, lasts = starts + first_bytes, np.where(is_empty, starts, stops - 1) + first_bytes
    if sum(map(len, data)) != len(all_origins):  # not all of it is ASCII
        is_first_byte = np.frombuffer(b"".join(data), np.uint8) & 0xC0 != 0x80
        characters = np.cumsum(is_first_byte) - 1
        starts, lasts = characters[starts], characters[lasts]
    moved = np.repeat(bytes_of[first_characters], counts)
    first_originals = all_origins[starts]
    after = np.where(is_empty, first_originals, all_origins[lasts] + 1)
    return bytes_of[first_originals] - moved, bytes_of[after] - moved


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


def _followed(changes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the origins of characters by how many characters each one adds to the text; the first one adds none.

    >>> _followed(np.array([0, -1, 1, 0])).tolist()
    [0, 1, 2, 3]
    """
    is_inserted = changes > 0
    replaced = np.where(is_inserted, 0, 1 - changes)
    places = np.cumsum(replaced) - replaced
    origins: NDArray[np.int64] = places - is_inserted
    return origins
