"""Number and causes of the characters that a round trip loses."""

from __future__ import annotations

import sys
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal, get_args

from tokbench.evaluation.alignment import Difference, alignment
from tokbench.evaluation.anchors import parts_between_anchors

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

Cause = Literal["case", "accents", "white space", "unknown", "other"]
CAUSES: tuple[Cause, ...] = get_args(Cause)
"""Changed case; lost or changed accents; white space; unknown tokens; anything else."""

_MARKS = (" ⁇ ", "⁇", "[UNK]", "<unk>", "<UNK>", "<|unk|>", "\ufffd")
"""How decoding writes an unknown token; SentencePiece with a space on both sides."""
_UNKNOWN = "\udfff"
"""What an unknown token is replaced by: a character that is in no text."""
_EXACT = 1024
"""Maximum length, in characters, of two texts that are aligned as they are."""
_FEW = 0.2
"""Share of edits above which longer texts are also aligned as they are, as little else may agree."""
_LONG, _PART = 1 << 16, 1 << 14
"""Length, in characters, from which on texts are aligned in parts, and the length of these: a run of unknown tokens may
stand for more characters than an alignment looks ahead."""
_AT_ONCE = 16
"""Number of significant characters that are compared at once."""
_SHORT = 16
"""Maximum total length, in characters, of a pair of texts whose edits are cached."""


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

    An unknown token is one character of the decoding, so that it is an edit of each character that it replaces. The
    number is the edit distance if neither text is longer than 1,024 characters; otherwise it is at least that, and
    seldom a tenth more. This takes linear time.

    >>> dict(zip(CAUSES, losses_of("Élan  vital", "elan vital").by_cause))
    {'case': 0, 'accents': 1, 'white space': 1, 'unknown': 0, 'other': 0}
    """
    text, decoded = _with_single_marks(text, decoded)
    if len(text) <= _LONG:
        return _losses_of_part(text, decoded)
    parts = parts_between_anchors(text, decoded, size=_PART)
    return Losses(tuple(map(sum, zip(*(_losses_of_part(*part).by_cause for part in parts), strict=True))))


def _losses_of_part(text: str, decoded: str) -> Losses:
    length = max(len(text), len(decoded))
    if length <= _EXACT:
        return _compared_directly(text, decoded)
    losses = _compared_by_letters(text, decoded)
    if losses.total <= length * _FEW:
        return losses
    return min(losses, _compared_directly(text, decoded), key=lambda found: found.total)


def _compared_directly(text: str, decoded: str) -> Losses:
    counts = dict.fromkeys(CAUSES, 0)
    _count(counts, text, decoded)
    return Losses(tuple(counts.values()))


def _compared_by_letters(text: str, decoded: str) -> Losses:
    """Align the texts without case, accents and white space first, and then the parts between what agrees."""
    counts = dict.fromkeys(CAUSES, 0)
    one, other = _SignificantCharacters.of(text), _SignificantCharacters.of(decoded)
    i = j = 0
    for part in alignment(one.folded, other.folded):
        if isinstance(part, Difference):
            i, j = i + len(part.lost), j + len(part.found)
            continue
        before = one.before(i), other.before(j)
        if before[0] != before[1]:
            _count(counts, *before)
        for lost, found in one.pairs(other, i, j, part):
            _count(counts, lost, found)
        i, j = i + part, j + part
        one.done, other.done = one.end(i), other.end(j)
    _count(counts, text[one.done :], decoded[other.done :])
    return Losses(tuple(counts.values()))


def _with_single_marks(text: str, decoded: str) -> tuple[str, str]:
    """Replace the marks of unknown tokens by a single character.

    Otherwise the beginning of a mark would agree with a bracket that it replaces. A mark that the text spells, too, is
    replaced in both; one that differs from the text in case is not that of an unknown token.
    """
    folded = ""
    for mark in _MARKS:
        if mark not in decoded:
            continue
        if mark in text:
            text = text.replace(mark, _UNKNOWN)
        elif mark.casefold() in (folded := folded or text.casefold()):
            continue
        decoded = decoded.replace(mark, _UNKNOWN)
    return text, decoded


def _count(counts: dict[Cause, int], lost: str, found: str) -> None:
    """Add the edits between two corresponding parts of the texts."""
    if (replaced := _replaced_by_mark(lost, found)) is not None:
        spaces = min(sum(map(str.isspace, replaced)), max(len(replaced) - 1, 0))
        counts["white space"] += spaces
        counts["unknown"] += max(len(replaced), 1) - spaces
        return
    is_short = len(lost) + len(found) <= _SHORT
    for cause in (_cached_causes if is_short else _causes)(lost, found):
        counts[cause] += 1


def _replaced_by_mark(lost: str, found: str) -> str | None:
    """Return what a single unknown token stands for, if the parts differ in nothing else; a text is full of these.

    >>> _replaced_by_mark("(日本)", f"({_UNKNOWN})"), _replaced_by_mark("日", "x")
    ('日本', None)
    """
    before, mark, after = found.partition(_UNKNOWN)
    is_all = (
        mark and len(before) + len(after) <= len(lost) and lost.startswith(before) and lost.endswith(after)
    )
    if not is_all or _UNKNOWN in after or _UNKNOWN in lost:
        return None
    return lost[len(before) : len(lost) - len(after)]


def _causes(lost: str, found: str) -> list[Cause]:
    """Return the cause of each edit between two texts."""
    causes: list[Cause] = []
    for part in alignment(lost, found):
        if isinstance(part, int):
            continue
        if len(part.edits) > 1:
            causes += _causes_of(part)
        else:
            causes.append("unknown" if part.found == _UNKNOWN else cause_of(part.lost, part.found))
    return causes


_cached_causes = lru_cache(maxsize=1 << 14)(_causes)
"""`_causes` with a cache: the same few pairs recur, such as a capital letter or a space before a comma."""


def _causes_of(difference: Difference) -> tuple[Cause, ...]:
    lost, found, edits = difference
    causes = tuple(cause_of(one, other) for one, other in edits)
    if _UNKNOWN in found:
        return tuple(
            "unknown" if other == _UNKNOWN or (not other and cause != "white space") else cause
            for (_, other), cause in zip(edits, causes, strict=True)
        )
    # Between two normal forms of the same letters, a single edit does not reveal its cause.
    if "other" in causes and _without_accents_and_case(lost) == _without_accents_and_case(found):
        return tuple("accents" if cause == "other" else cause for cause in causes)
    return causes


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
        import numpy as np

        folded = _FOLDED.codes_of(text)[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")]
        positions = np.flatnonzero(folded)
        return cls(text, positions.tolist(), folded[positions].tobytes().decode("utf-32-le", "surrogatepass"))

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
        for start in range(0, agreeing, _AT_ONCE):
            block, other_block = mine[start : start + _AT_ONCE], theirs[start : start + _AT_ONCE]
            stop, other_stop = block[-1], other_block[-1]
            # Where both are the same, so are all parts of them.
            if self.text[last + 1 : stop + 1] != other.text[other_last + 1 : other_stop + 1]:
                for position, other_position in zip(block, other_block, strict=True):
                    lost = self.text[last + 1 : position + 1]
                    found = other.text[other_last + 1 : other_position + 1]
                    if lost != found:
                        yield lost, found
                    last, other_last = position, other_position
            last, other_last = stop, other_stop


@lru_cache(maxsize=1 << 14)
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


class _Folded:
    """A lazily filled map from each character to its form without case and accents; none for white space and marks."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    @cached_property
    def _codes(self) -> NDArray[np.uint32]:
        import numpy as np

        return np.zeros(sys.maxunicode + 1, np.uint32)

    def codes_of(self, text: str) -> NDArray[np.uint32]:
        """Return code point → code point of its form, 0 for none; filled for the characters of the text."""
        for character in set(text) - self._known:
            # A syllable of Hangul stays one character: its parts are not accents.
            folded = unicodedata.normalize("NFC", _without_accents_and_case(character))
            if sign := folded[:1].strip():
                self._codes[ord(character)] = ord(sign)
            self._known.add(character)
        return self._codes


_FOLDED = _Folded()


def _without_accents_and_case(text: str) -> str:
    """Remove accents and case from a text."""
    return "".join(
        character
        for character in unicodedata.normalize("NFKD", text)
        if not unicodedata.category(character).startswith("M")
    ).casefold()
