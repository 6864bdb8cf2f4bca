"""Number and causes of the characters that a round trip loses."""

from __future__ import annotations

import re
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
"""Changed case; lost or changed accents; white space; unknown tokens; anything else."""

_UNKNOWN_MARKS = ("\ufffd", "⁇", "[UNK]", "<unk>", "<UNK>", "<|unk|>")
_SINGLE_MARK = "\ufffd"
_LONGEST_MARK = max(map(len, _UNKNOWN_MARKS))
_ANCHOR = 6
"""Number of equal characters after which two texts count as aligned again."""
_NEAR = 32
_FAR, _LONG_ANCHOR = 2048, 16
_STRIDE = 64
_SHORT = 16
"""Maximum total length, in characters, of a pair of texts whose edits are cached."""
_CELLS = 1024
"""Maximum product of two lengths for which texts are aligned exactly."""


def error_count(cause: Cause) -> str:
    """Return the name of the count in `FIDELITY` for the edits of a cause; "other" has no count.

    >>> error_count("white space"), error_count("accents")
    ('white_space_errors', 'accent_errors')
    """
    return f"{cause.removesuffix('s').replace(' ', '_')}_errors"


@dataclass(frozen=True, slots=True)
class Losses:
    """Number of edits (substitutions, deletions, insertions of a character) between a text and its decoding.

    Attributes:
        by_cause: number of edits for each of `CAUSES`, in that order.
    """

    by_cause: tuple[int, ...]

    @property
    def total(self) -> int:
        """Number of edits of all causes."""
        return sum(self.by_cause)

    def at_most(self, most: int) -> Losses:
        """Scale the edits down to at most the number of characters of the text, which is then lost entirely.

        >>> Losses((4, 0, 4, 0, 0)).at_most(4).by_cause
        (2, 0, 2, 0, 0)
        """
        total = self.total
        return self if total <= most else Losses(tuple(count * most // total for count in self.by_cause))


def losses_of(text: str, decoded: str) -> Losses:
    """Count the edits between a text and its decoding, by cause.

    The texts between the common prefix and the common suffix are aligned exactly up to 32 by 32 characters. Longer
    texts are walked side by side, ignoring case, accents and white space: where they diverge, the walk continues at
    the nearest position from which six characters agree again, or after an unknown token the characters up to the
    next one. The skipped parts, and characters that differ in case and accents only, are then compared. This takes
    linear time, and never counts fewer edits than necessary.

    >>> dict(zip(CAUSES, losses_of("Élan  vital", "elan vital").by_cause))
    {'case': 0, 'accents': 1, 'white space': 1, 'unknown': 0, 'other': 0}
    """
    decoded = _with_single_marks(text, decoded)
    start = _common_prefix(text, 0, decoded, 0)
    suffix = _common_suffix(text, decoded, most=min(len(text), len(decoded)) - start)
    text, decoded = text[start : len(text) - suffix], decoded[start : len(decoded) - suffix]
    counts = dict.fromkeys(CAUSES, 0)
    if len(text) * len(decoded) <= _CELLS and not _has_unknown(text, decoded):
        _count(counts, text, decoded)
        return Losses(tuple(counts.values()))
    one, other = _SignificantCharacters.of(text), _SignificantCharacters.of(decoded)
    for i, j, agreeing in _agreeing_runs(one.folded, other.folded):
        before = one.before(i), other.before(j)
        if before[0] != before[1]:
            _count(counts, *before)
        for lost, found in one.pairs(other, i, j, agreeing):
            _count(counts, lost, found)
        one.done, other.done = one.end(i + agreeing), other.end(j + agreeing)
    _count(counts, text[one.done :], decoded[other.done :])
    return Losses(tuple(counts.values()))


def _with_single_marks(text: str, decoded: str) -> str:
    """Replace the marks of unknown tokens by one character that the text does not have.

    Otherwise the first character of a mark would agree with the text if this is the unknown one, as "[" of "[UNK]".
    """
    found = [mark for mark in _UNKNOWN_MARKS if len(mark) > 1 and mark in decoded]
    if not found or _SINGLE_MARK in text:
        return decoded
    folded = text.casefold()
    for mark in found:
        if mark.casefold() not in folded:
            decoded = decoded.replace(mark, _SINGLE_MARK)
    return decoded


def _count(counts: dict[Cause, int], lost: str, found: str) -> None:
    """Add the edits between two corresponding parts of the texts."""
    is_short = len(lost) + len(found) <= _SHORT
    for cause, number in (_cached_counts if is_short else _counts_of)(lost, found).items():
        counts[cause] += number


def _counts_of(lost: str, found: str) -> Counter[Cause]:
    if _has_unknown(lost, found):
        kept = min(map(_inner_white_space, (lost, found)))  # between unknown tokens
        return Counter({"unknown": max(len(lost.strip()) - kept, len(_without_marks(found)), 1)})
    if len(lost) * len(found) > _CELLS:
        return Counter({"other": max(len(lost), len(found))})
    # Between two normal forms of the same letters, a single edit does not reveal its cause.
    is_same = _without_accents_and_case(lost) == _without_accents_and_case(found)
    causes = (cause_of(one, other) for one, other in edits(lost, found))
    return Counter("accents" if is_same and cause == "other" else cause for cause in causes)


def _inner_white_space(text: str) -> int:
    return sum(map(str.isspace, text.strip()))


def _has_unknown(lost: str, found: str) -> bool:
    """Whether a decoded text has unknown tokens: their marks, which the text itself does not have."""
    return any(mark in found for mark in _UNKNOWN_MARKS) and not any(mark in lost for mark in _UNKNOWN_MARKS)


_cached_counts = lru_cache(maxsize=1 << 14)(_counts_of)
"""`_counts_of` with a cache: the same few pairs recur, such as a capital letter or a space before a comma."""


@dataclass(slots=True)
class _SignificantCharacters:
    """The significant characters of a text: all but white space and combining marks.

    Attributes:
        text: the whole text.
        positions: positions of the significant characters.
        folded: one character for each position, without case and accents.
        done: end of the part of the text that has been compared.
    """

    text: str
    positions: list[int]
    folded: str
    done: int = 0

    @classmethod
    def of(cls, text: str) -> _SignificantCharacters:
        """Find the significant characters of a text."""
        fold = _FOLDED
        positions = [position for position, character in enumerate(text) if fold[character]]
        return cls(text, positions, "".join([fold[text[position]] for position in positions]))

    def end(self, number: int) -> int:
        """Return the position after the first `number` significant characters."""
        return self.positions[number - 1] + 1 if number else 0

    def before(self, number: int) -> str:
        """Return the text not yet compared before a significant character, or before the end."""
        return self.text[
            self.done : self.positions[number] if number < len(self.positions) else len(self.text)
        ]

    def pairs(
        self, other: _SignificantCharacters, i: int, j: int, agreeing: int
    ) -> Iterator[tuple[str, str]]:
        """Yield the differing parts of two ranges whose significant characters agree except for case and accents."""
        mine, theirs = self.positions[i : i + agreeing], other.positions[j : j + agreeing]
        last, other_last = (mine[0] - 1, theirs[0] - 1) if agreeing else (0, 0)
        for position, other_position in zip(mine, theirs, strict=True):
            lost, found = self.text[last + 1 : position + 1], other.text[other_last + 1 : other_position + 1]
            if lost != found:
                yield lost, found
            last, other_last = position, other_position


def cause_of(lost: str, found: str) -> Cause:
    r"""Return the cause of a substitution, deletion or insertion of a character.

    >>> cause_of("A", "a"), cause_of("é", "e"), cause_of("\n", ""), cause_of("x", "y")
    ('case', 'accents', 'white space', 'other')
    """
    if (lost + found).isspace():
        return "white space"
    if lost and found and lost.casefold() == found.casefold():
        return "case"
    if _without_accents_and_case(lost) == _without_accents_and_case(found):
        return "accents"
    return "other"


def edits(text: str, other: str) -> list[tuple[str, str]]:
    """Return a minimal list of edits between two short texts: (lost, found) characters, "" for none.

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


def _agreeing_runs(text: str, other: str) -> Iterator[tuple[int, int, int]]:
    """Yield the runs in which two texts agree: the positions in both, and the number of characters."""
    i = j = 0
    while i < len(text) or j < len(other):
        agreeing = _common_prefix(text, i, other, j)
        if agreeing:
            yield i, j, agreeing
        i, j = i + agreeing, j + agreeing
        if i < len(text) or j < len(other):
            lost, found = _gap(text, i, other, j)
            i, j = i + lost, j + found


def _gap(text: str, i: int, other: str, j: int) -> tuple[int, int]:
    """Return how many characters of both texts must be skipped for them to agree again."""
    if (after := _after_unknown(text, i, other, j)) is not None:
        return after
    for distance in range(1, _NEAR + 1):
        for near in range(distance, -1, -1):
            for lost, found in ((distance, near), (near, distance)):
                if _in_step(text, i + lost, other, j + found):
                    return lost, found
    for lost in range(0, min(_FAR, len(text) - i), _LONG_ANCHOR):
        position = other.find(text[i + lost : i + lost + _LONG_ANCHOR], j, j + 2 * _FAR)
        if position >= 0 and len(text) - i - lost >= _LONG_ANCHOR:
            return _without_common_end(text, i, other, j, lost=lost, found=position - j)
    return min(_FAR, len(text) - i), min(_FAR, len(other) - j)


def _after_unknown(text: str, i: int, other: str, j: int) -> tuple[int, int] | None:
    """Return the gap at unknown tokens, by the characters between them and the next one; None if they do not agree."""
    run = _MARKS.match(other, j)
    if run is None:
        return None
    found, number = run.end() - j, len(_MARK.findall(run[0]))
    following = _MARK.search(other, run.end(), run.end() + _ANCHOR + _LONGEST_MARK)
    end = run.end() + _ANCHOR
    anchor = other[run.end() : min(end, following.start()) if following else end]
    if not anchor:
        return (len(text) - i, found) if len(text) - i <= _NEAR else None
    most = number + _NEAR if len(anchor) > 1 else number  # a single one is found by chance in longer gaps
    for lost in range(most + 1):  # from none, as a token may replace a mark
        if text.startswith(anchor, i + lost):
            return lost, found
    return None


def _without_common_end(text: str, i: int, other: str, j: int, *, lost: int, found: int) -> tuple[int, int]:
    """Shorten a gap by the characters that agree at its end."""
    while lost and found and text[i + lost - 1] == other[j + found - 1]:
        lost, found = lost - 1, found - 1
    return lost, found


def _in_step(text: str, i: int, other: str, j: int) -> bool:
    anchor = text[i : i + _ANCHOR]
    if not anchor:
        return i == len(text) and j == len(other)
    return other.startswith(anchor, j) and (len(anchor) == _ANCHOR or len(other) - j == len(anchor))


def _common_prefix(text: str, i: int, other: str, j: int) -> int:
    """Return the length of the common prefix from two positions on."""
    start = i
    while text[i : i + _STRIDE] == other[j : j + _STRIDE] and i + _STRIDE <= len(text):
        i, j = i + _STRIDE, j + _STRIDE
    for one, two in zip(islice(text[i : i + _STRIDE], _STRIDE), other[j : j + _STRIDE], strict=False):
        if one != two:
            break
        i += 1
    return i - start


def _common_suffix(text: str, other: str, *, most: int) -> int:
    count = 0
    while count < most and text[-1 - count] == other[-1 - count]:
        count += 1
    return count


def _without_marks(text: str) -> str:
    for mark in _UNKNOWN_MARKS:
        text = text.replace(mark, "")
    return text.strip()


class _Folded(dict[str, str]):
    """A lazily filled map from each character to its form without case and accents; "" for white space and marks."""

    def __missing__(self, character: str) -> str:
        # A syllable of Hangul stays one character: its parts are not accents.
        folded = unicodedata.normalize("NFC", _without_accents_and_case(character))
        sign = self[character] = folded[:1].strip()
        return sign


_FOLDED = _Folded()


def _without_accents_and_case(text: str) -> str:
    """Remove accents and case from a text."""
    return "".join(
        character
        for character in unicodedata.normalize("NFKD", text)
        if not unicodedata.category(character).startswith("M")
    ).casefold()


_MARK = re.compile("|".join(re.escape("".join(_FOLDED[sign] for sign in mark)) for mark in _UNKNOWN_MARKS))
_MARKS = re.compile(f"(?:{_MARK.pattern})+")
"""The marks of unknown tokens, and runs of them, in a text without white space, case and accents."""
