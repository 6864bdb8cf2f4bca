"""One metric: its definition, its direction, and its value, computed from a tally of counts, as a ratio or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tokbench.metrics.counts import COUNTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.metrics.vocabulary import Vocabulary

Direction = Literal["higher", "lower", "neither"]
Aggregation = Literal["pooled", "macro", "per_document"]
Theme = Literal["compression", "vocabulary", "fidelity", "numbers", "code"]

FIDELITY = (
    "roundtrips",  # documents with decode(encode(text)) == text
    "checked_for_stability",  # documents that were encoded again, unless they decoded to themselves
    "stable",  # those with encode(decode(ids)) == ids
    "whitespace_kept",  # documents whose white space is kept, whatever became of the rest
    "indentation_lost",  # indented lines that do not decode with the same white space before them
    "decoded_chars",  # characters of the documents whose losses were counted: the first megabytes
    "error_chars",  # edits between these documents and what they decode to
    "case_errors",  # edits by their cause; what is left has another one
    "accent_errors",
    "white_space_errors",
    "unknown_errors",
)
"""What is counted of decoding, by document, by line or by character."""

TOKEN_COUNTS = (
    "lone_byte_tokens",  # token occurrences whose token is one byte of a character of several
    "incomplete_tokens",  # token occurrences whose token is not whole characters
)
"""What is counted of token occurrences by what their token is."""

DOCUMENT_COUNTS = (*COUNTS, *FIDELITY, *TOKEN_COUNTS, "documents")
"""What is kept of each document; an index is a column of `Evaluation.document_counts`."""

_PLACES = {name: position for position, name in enumerate((*DOCUMENT_COUNTS, "empty_documents"))}
NUM_COUNTS = len(_PLACES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric of the catalogue.

    Attributes:
        name: as `--metrics` and JSON call it.
        title: as a table calls it.
        meaning: its definition, in a line.
        direction: which way is better; "neither" is not ranked.
        theme: what it belongs to.
        share: whether it lies between 0 and 1 and is shown in percent.
        numerator: the counts whose sum is divided, where it is a ratio of counts; one that stands twice counts
            twice, as the hits of an F1 do.
        denominator: the counts by whose sum it is divided.
        complement: whether that ratio is what is missing from 1.
        compute: the figure otherwise.
        of_frequencies: whether that is a smooth function of how often each id occurs, which has an interval.
    """

    name: str
    title: str
    meaning: str
    direction: Direction
    theme: Theme
    share: bool = False
    numerator: tuple[str, ...] = ()
    denominator: tuple[str, ...] = ()
    complement: bool = False
    compute: Callable[[Tally, Vocabulary], float | None] | None = None
    of_frequencies: bool = False

    def value(self, tally: Tally, vocabulary: Vocabulary) -> float | None:
        """The figure; None where there is nothing to divide by, or what it needs was not counted."""
        if self.compute is not None:
            return self.compute(tally, vocabulary)
        below = sum(tally[name] for name in self.denominator)
        above = sum(tally[name] for name in self.numerator)
        return ratio(below - above if self.complement else above, below)


def ratio(numerator: float, denominator: float) -> float | None:
    """One number over another; None, never 0, where there is nothing to divide by.

    >>> ratio(6, 4), ratio(0, 4), ratio(6, 0)
    (1.5, 0.0, None)
    """
    return numerator / denominator if denominator else None


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Sums over documents.

    Attributes:
        sums: int64[NUM_COUNTS], read by name: `tally["tokens"]`.
        frequencies: int64[V], occurrences of each id; None where it was not kept.
        words: (distinct words, those of them that were always one token), distinct within each group.
        numbers: int64[17, 2], by length in digits: how many, and the tokens that touch them.
    """

    sums: NDArray[np.int64]
    frequencies: NDArray[np.int64] | None
    words: tuple[int, int]
    numbers: NDArray[np.int64]

    def __getitem__(self, name: str) -> int:
        return int(self.sums[_PLACES[name]])

    def as_counts(self) -> Mapping[str, int]:
        """Every sum by its name, for JSON."""
        return {name: int(self.sums[position]) for name, position in _PLACES.items()}


def position_of(name: str) -> int:
    """The position of a count in `Tally.sums`."""
    return _PLACES[name]


def pooled(tallies: Iterable[Tally]) -> Tally:
    """The sums over all groups. Raises `ValueError` for none."""
    import numpy as np  # here, as the help of commands names metrics and needs no array

    all_of_them = tuple(tallies)
    if not all_of_them:
        raise ValueError("there is no tally")
    frequencies = [tally.frequencies for tally in all_of_them]
    return Tally(
        sums=np.sum([tally.sums for tally in all_of_them], axis=0),
        frequencies=None
        if any(one is None for one in frequencies)
        else np.sum([one for one in frequencies if one is not None], axis=0),
        words=(
            sum(tally.words[0] for tally in all_of_them),
            sum(tally.words[1] for tally in all_of_them),
        ),
        numbers=np.sum([tally.numbers for tally in all_of_them], axis=0),
    )
