"""Classify the characters that a round trip loses: how many, and why."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Iterator

Cause = Literal["case", "accents", "white space", "unknown", "other"]
CAUSES: tuple[Cause, ...] = get_args(Cause)
"""Letters of another case; letters and marks without, or of another, accent; white space; unknown tokens; all else."""

_UNKNOWN_MARKS = ("\ufffd", "⁇", "[UNK]", "<unk>", "<UNK>", "<|unk|>")
_ANCHOR = 6
"""Characters that must agree for two texts to be in step again."""
_NEAR = 32
_FAR, _LONG_ANCHOR = 2048, 16
_STRIDE = 64
_SHORT = 16
"""Characters of both texts together, of which the edits are remembered."""
_CELLS = 1024
"""Up to this many pairs of characters are aligned exactly."""


def error_count(cause: Cause) -> str:
    """The count of `FIDELITY` that has the edits of a cause; there is none of "other".

    >>> error_count("white space"), error_count("accents")
    ('white_space_errors', 'accent_errors')
    """
    return f"{cause.removesuffix('s').replace(' ', '_')}_errors"


@dataclass(frozen=True, slots=True)
class Losses:
    """Edits (substitutions, deletions, insertions of a character) that turn a text into what it decodes to.

    Attributes:
        by_cause: each of `CAUSES`, in that order.
    """

    by_cause: tuple[int, ...]

    @property
    def total(self) -> int:
        """The edits of all causes together."""
        return sum(self.by_cause)

    def at_most(self, most: int) -> Losses:
        """As many edits as a text has characters, where there are more: all of it is lost then.

        >>> Losses((4, 0, 4, 0, 0)).at_most(4).by_cause
        (2, 0, 2, 0, 0)
        """
        total = self.total
        return self if total <= most else Losses(tuple(count * most // total for count in self.by_cause))


def losses_of(text: str, decoded: str) -> Losses:
    """The edits between a text and what it decodes to, by cause.

    What differs, between a common beginning and a common end, is aligned exactly up to 32 by 32
    characters. Of more than that the letters and signs of both, without case, accents and white space, are
    walked side by side: where they part, the nearest position is taken at which six of them agree again. What
    stands between them, and letters that agree but for case and accents, are compared there. That takes time
    in proportion to the texts, and finds no fewer edits than there are.

    >>> dict(zip(CAUSES, losses_of("Élan  vital", "elan vital").by_cause))
    {'case': 0, 'accents': 1, 'white space': 1, 'unknown': 0, 'other': 0}
    """
    start = _agreeing(text, 0, decoded, 0)
    suffix = _agreeing_ends(text, decoded, most=min(len(text), len(decoded)) - start)
    text, decoded = text[start : len(text) - suffix], decoded[start : len(decoded) - suffix]
    counts = dict.fromkeys(CAUSES, 0)
    if len(text) * len(decoded) <= _CELLS:
        _count(counts, text, decoded)
        return Losses(tuple(counts.values()))
    one, other = _Signs.of(text), _Signs.of(decoded)
    for i, j, agreeing in _steps(one.folded, other.folded):
        before = one.before(i), other.before(j)
        if before[0] != before[1]:
            _count(counts, *before)
        for lost, found in one.pairs(other, i, j, agreeing):
            _count(counts, lost, found)
        one.done, other.done = one.end(i + agreeing), other.end(j + agreeing)
    _count(counts, text[one.done :], decoded[other.done :])
    return Losses(tuple(counts.values()))


def _count(counts: dict[Cause, int], lost: str, found: str) -> None:
    """Add the edits of a short part of both texts."""
    is_short = len(lost) + len(found) <= _SHORT
    for cause, number in (_counted_before if is_short else _counted)(lost, found).items():
        counts[cause] += number


def _counted(lost: str, found: str) -> Counter[Cause]:
    if any(mark in found for mark in _UNKNOWN_MARKS) and not any(mark in lost for mark in _UNKNOWN_MARKS):
        return Counter({"unknown": max(len(lost.strip()), len(_without_marks(found)), 1)})
    if len(lost) * len(found) > _CELLS:
        return Counter({"other": max(len(lost), len(found))})
    # Another normal form of the same letters has edits of which each alone looks like anything.
    is_same = _bare(lost) == _bare(found)
    causes = (cause_of(one, other) for one, other in edits(lost, found))
    return Counter("accents" if is_same and cause == "other" else cause for cause in causes)


_counted_before = lru_cache(maxsize=1 << 14)(_counted)
"""The same few parts come again and again, as a capital letter and a space before a comma."""


@dataclass(slots=True)
class _Signs:
    """The characters of a text but white space and marks.

    Attributes:
        text: all of it.
        positions: where they are.
        folded: these, without case and accents; as many.
        done: up to where the text is compared.
    """

    text: str
    positions: list[int]
    folded: str
    done: int = 0

    @classmethod
    def of(cls, text: str) -> _Signs:
        """Those of a text."""
        fold = _FOLDED
        positions = [position for position, character in enumerate(text) if fold[character]]
        return cls(text, positions, "".join([fold[text[position]] for position in positions]))

    def end(self, number: int) -> int:
        """After this many of them."""
        return self.positions[number - 1] + 1 if number else 0

    def before(self, number: int) -> str:
        """What is not compared yet before one of them, or the end."""
        return self.text[
            self.done : self.positions[number] if number < len(self.positions) else len(self.text)
        ]

    def pairs(self, other: _Signs, i: int, j: int, agreeing: int) -> Iterator[tuple[str, str]]:
        """What differs in signs of both that agree but for case and accents, and between these."""
        mine, theirs = self.positions[i : i + agreeing], other.positions[j : j + agreeing]
        last, other_last = (mine[0] - 1, theirs[0] - 1) if agreeing else (0, 0)
        for position, other_position in zip(mine, theirs, strict=True):
            lost, found = self.text[last + 1 : position + 1], other.text[other_last + 1 : other_position + 1]
            if lost != found:
                yield lost, found
            last, other_last = position, other_position


def cause_of(lost: str, found: str) -> Cause:
    r"""The cause of a substitution, deletion or insertion of a character.

    >>> cause_of("A", "a"), cause_of("é", "e"), cause_of("\n", ""), cause_of("x", "y")
    ('case', 'accents', 'white space', 'other')
    """
    if (lost + found).isspace():
        return "white space"
    if lost and found and lost.casefold() == found.casefold():
        return "case"
    if _bare(lost) == _bare(found):
        return "accents"
    return "other"


def edits(text: str, other: str) -> list[tuple[str, str]]:
    """The fewest edits between two short texts: (lost, found) characters, "" for none.

    >>> edits("abc", "axcd")
    [('b', 'x'), ('', 'd')]
    """
    rows = [list(range(len(other) + 1))]
    for number, one in enumerate(text, start=1):
        above, row = rows[-1], [number]
        for position, two in enumerate(other):
            row.append(min(above[position] + (one != two), above[position + 1] + 1, row[position] + 1))
        rows.append(row)
    found: list[tuple[str, str]] = []
    i, j = len(text), len(other)
    while i or j:
        here = rows[i][j]
        if i and j and here == rows[i - 1][j - 1] + (text[i - 1] != other[j - 1]):
            i, j = i - 1, j - 1
            if text[i] != other[j]:
                found.append((text[i], other[j]))
        elif i and here == rows[i - 1][j] + 1:
            i -= 1
            found.append((text[i], ""))
        else:
            j -= 1
            found.append(("", other[j]))
    return found[::-1]


def _steps(text: str, other: str) -> Iterator[tuple[int, int, int]]:
    """Where two texts agree, one after the other: the positions in both, and how many characters."""
    i = j = 0
    while i < len(text) or j < len(other):
        agreeing = _agreeing(text, i, other, j)
        if agreeing:
            yield i, j, agreeing
        i, j = i + agreeing, j + agreeing
        if i < len(text) or j < len(other):
            lost, found = _gap(text, i, other, j)
            i, j = i + lost, j + found


def _gap(text: str, i: int, other: str, j: int) -> tuple[int, int]:
    """How many characters of both must be left out for them to be in step again."""
    for distance in range(1, _NEAR + 1):
        for near in range(distance, -1, -1):
            for lost, found in ((distance, near), (near, distance)):
                if _in_step(text, i + lost, other, j + found):
                    return lost, found
    for lost in range(0, min(_FAR, len(text) - i), _LONG_ANCHOR):
        position = other.find(text[i + lost : i + lost + _LONG_ANCHOR], j, j + 2 * _FAR)
        if position >= 0 and len(text) - i - lost >= _LONG_ANCHOR:
            return _closer(text, i, other, j, lost=lost, found=position - j)
    return min(_FAR, len(text) - i), min(_FAR, len(other) - j)


def _closer(text: str, i: int, other: str, j: int, *, lost: int, found: int) -> tuple[int, int]:
    """The same gap without what agrees at its end."""
    while lost and found and text[i + lost - 1] == other[j + found - 1]:
        lost, found = lost - 1, found - 1
    return lost, found


def _in_step(text: str, i: int, other: str, j: int) -> bool:
    anchor = text[i : i + _ANCHOR]
    if not anchor:
        return i == len(text) and j == len(other)
    return other.startswith(anchor, j) and (len(anchor) == _ANCHOR or len(other) - j == len(anchor))


def _agreeing(text: str, i: int, other: str, j: int) -> int:
    """How many characters agree from two positions on."""
    start = i
    while text[i : i + _STRIDE] == other[j : j + _STRIDE] and i + _STRIDE <= len(text):
        i, j = i + _STRIDE, j + _STRIDE
    for one, two in zip(islice(text[i : i + _STRIDE], _STRIDE), other[j : j + _STRIDE], strict=False):
        if one != two:
            break
        i += 1
    return i - start


def _agreeing_ends(text: str, other: str, *, most: int) -> int:
    count = 0
    while count < most and text[-1 - count] == other[-1 - count]:
        count += 1
    return count


def _without_marks(text: str) -> str:
    for mark in _UNKNOWN_MARKS:
        text = text.replace(mark, "")
    return text.strip()


class _Folded(dict[str, str]):
    """The sign that a character is without case and accents, made when it is first asked for; "" of white space."""

    def __missing__(self, character: str) -> str:
        sign = self[character] = _bare(character)[:1].strip()
        return sign


_FOLDED = _Folded()


def _bare(text: str) -> str:
    """A text without accents and case."""
    return "".join(
        one for one in unicodedata.normalize("NFKD", text) if not unicodedata.category(one).startswith("M")
    ).casefold()
