"""The counts of the counting kernel, and metrics: ratios of these, or computed from the distribution of tokens.

A *run* is a stretch of text that a count examines (a word, a number, an identifier, an operator, the indentation of a
line). A token *touches* a run if they share a byte. A *boundary* is a position where a token starts or stops.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.metrics.vocabulary import Vocabulary

MEANINGS = {
    "tokens": "tokens",
    "bytes": "UTF-8 bytes",
    "chars": "code points; a byte that belongs to none counts as one character",
    "lines": "line feeds, and a last line without one",
    "words": "words, as in UAX 29: runs of letters, marks, numbers and underscores, across an apostrophe between "
    "letters and a point or comma between digits; each letter of an unspaced script",
    "unspaced_words": "words that are one letter of a script without spaces between words",
    "split_words": "words touched by two or more tokens",
    "multibyte_chars": "characters of two bytes or more",
    "cut_chars": "characters with a boundary strictly inside",
    "language_chars": "letters, marks (and joiners between letters) and numbers; no punctuation and no symbols",
    "covered_chars": "`language_chars` within a single token of a kind other than UNKNOWN and BYTE",
    "unknown_tokens": "tokens of kind UNKNOWN",
    "fallback_tokens": "tokens of kind BYTE",
    "uncovered_bytes": "bytes of UNKNOWN and BYTE tokens, and of words that no token touches",
    "numbers": "maximal runs of decimal digits",
    "short_numbers": "numbers of one to three digits",
    "whole_short_numbers": "short numbers in a token that contains nothing else except white space before the number",
    "number_tokens": "tokens that touch a number, summed over numbers",
    "digit_boundaries": "boundaries of groups of three digits from the right",
    "digit_cuts": "boundaries strictly inside numbers",
    "digit_hits": "digit cuts that are digit boundaries",
    "identifiers": "words of the form [A-Za-z_][A-Za-z0-9_]*",
    "identifier_boundaries": "in identifiers (words of ASCII letters, digits and underscores that do not begin with a "
    "digit, in program code): changes of case, runs of underscores, changes between letter and digit",
    "identifier_cuts": "boundaries strictly inside identifiers",
    "identifier_hits": "identifier boundaries where a token starts or stops, on either side of the underscores",
    "operators": "operators of two or more characters, longest match first, left to right",
    "isolated_operators": "operators in a token that contains nothing else except white space",
    "indented_lines": "lines that start with a space or a tab and contain more than white space",
    "indentation_chars": "spaces and tabs at the start of indented lines",
    "indentation_tokens": "tokens that touch a line's indentation, summed over lines",
}
"""The name of each count, with its definition."""

COUNTS = tuple(MEANINGS)
"""The names; the index of a count is its column in `Measurer.totals`, and in the result of `add` for each document."""

LONGEST_NUMBER = 16
"""Numbers of this many or more digits are counted together in `Measurer.numbers_by_length`."""

OPERATORS = (
    "==", "!=", "<=", ">=", "===", "!==", "<=>", "=~", "!~", "~=", ":=", "::", "->", "=>", "<-", "|>", "<|",
    "&&", "||", "++", "--", "**", "//", "<<", ">>", ">>>", "??", "?.", "?:", "..", "...", "..=", "..<",
    "+=", "-=", "*=", "/=", "%=", "@=", "&=", "|=", "^=", "**=", "//=", "<<=", ">>=", ">>>=", "&&=", "||=", "??=",
)  # fmt: skip
"""The operators: those of C and its descendants, Python, Rust, Go, JavaScript and similar languages."""


Direction = Literal["higher", "lower", "neither"]
Aggregation = Literal["pooled", "macro", "per_document"]
Theme = Literal["compression", "vocabulary", "fidelity", "numbers", "code"]

FIDELITY = (
    "roundtrips",  # documents with decode(encode(text)) == text
    "checked_for_stability",  # documents that were encoded again, unless they decoded to themselves
    "stable",  # documents with encode(decode(ids)) == ids
    "whitespace_kept",  # documents whose white space is kept, whatever happens to the rest
    "indentation_lost",  # indented lines that do not decode to the same leading white space
    "decoded_chars",  # characters of the documents whose losses were counted: the first megabytes
    "error_chars",  # edits between these documents and their decoded text
    "case_errors",  # edits by cause; the remaining edits have another cause
    "accent_errors",
    "white_space_errors",
    "unknown_errors",
)
"""The counts of decoding, by document, by line or by character."""

TOKEN_COUNTS = (
    "lone_byte_tokens",  # token occurrences whose token is one byte of a character of several
    "incomplete_tokens",  # token occurrences whose token is not whole characters
)
"""The counts of token occurrences by their token's bytes."""

DOCUMENT_COUNTS = (*COUNTS, *FIDELITY, *TOKEN_COUNTS, "documents")
"""The counts of each document; their indices are the columns of `Evaluation.document_counts`."""

_PLACES = {name: position for position, name in enumerate((*DOCUMENT_COUNTS, "empty_documents"))}
NUM_COUNTS = len(_PLACES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric of the catalogue.

    Attributes:
        name: its name in `--metrics` and JSON.
        title: its name in tables.
        meaning: its definition, in one line.
        direction: which direction is better; "neither" is not ranked.
        theme: its theme.
        unit: its unit; a share is between 0 and 1 and shown in percent.
        numerator: the counts whose sum is divided, for a ratio of counts; a repeated count is added repeatedly, as the
            hits of an F1.
        denominator: the counts by whose sum it is divided.
        complement: whether the value is 1 minus that ratio.
        compute: the function of a figure that is not a ratio of counts.
        of_frequencies: whether that function is smooth in the frequencies of ids, so that the figure has an interval.
    """

    name: str
    title: str
    meaning: str
    direction: Direction
    theme: Theme
    unit: str = "share"
    numerator: tuple[str, ...] = ()
    denominator: tuple[str, ...] = ()
    complement: bool = False
    compute: Callable[[Tally, Vocabulary], float | None] | None = None
    of_frequencies: bool = False

    @property
    def share(self) -> bool:
        """Whether it is a share."""
        return self.unit == "share"

    def value(self, tally: Tally, vocabulary: Vocabulary) -> float | None:
        """Return the figure; None if the denominator is 0, or the data that it needs was not counted."""
        if self.compute is not None:
            return self.compute(tally, vocabulary)
        below = sum(tally[name] for name in self.denominator)
        above = sum(tally[name] for name in self.numerator)
        return ratio(below - above if self.complement else above, below)


def ratio(numerator: float, denominator: float) -> float | None:
    """Return one number over another; None, never 0, if the denominator is 0.

    >>> ratio(6, 4), ratio(0, 4), ratio(6, 0)
    (1.5, 0.0, None)
    """
    return numerator / denominator if denominator else None


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Sums over documents.

    Attributes:
        sums: int64[NUM_COUNTS], read by name: `tally["tokens"]`.
        frequencies: int64[V], occurrences of each id; None if they were not kept.
        words: (distinct words, number of these that were always one token), distinct within each group.
        numbers: int64[17, 2], by length in digits: how many numbers, and the tokens that touch them.
    """

    sums: NDArray[np.int64]
    frequencies: NDArray[np.int64] | None
    words: tuple[int, int]
    numbers: NDArray[np.int64]

    def __getitem__(self, name: str) -> int:
        return int(self.sums[_PLACES[name]])

    def as_counts(self) -> Mapping[str, int]:
        """Return every sum by its name, for JSON."""
        return {name: int(self.sums[position]) for name, position in _PLACES.items()}


def position_of(name: str) -> int:
    """Return the index of a count in `Tally.sums`."""
    return _PLACES[name]


def pooled(tallies: Iterable[Tally]) -> Tally:
    """Return the sums over all groups. Raises `ValueError` if there are none."""
    import numpy as np  # imported here, as the help of commands lists metrics and needs no array

    all_of_them = tuple(tallies)
    if not all_of_them:
        raise ValueError("there is no tally")
    frequencies = [tally.frequencies for tally in all_of_them]
    return Tally(
        sums=np.sum([tally.sums for tally in all_of_them], axis=0),
        frequencies=None
        if any(array is None for array in frequencies)
        else np.sum([array for array in frequencies if array is not None], axis=0),
        words=(
            sum(tally.words[0] for tally in all_of_them),
            sum(tally.words[1] for tally in all_of_them),
        ),
        numbers=np.sum([tally.numbers for tally in all_of_them], axis=0),
    )


RENYI_ALPHA = 2.5
"""The order at which Zouhar et al. 2023 found the best agreement with translation quality."""

_NEARLY_ONE = 1e-8
"""Within this distance of order 1, the difference to Shannon's entropy is below the formula's rounding error."""


def shannon_efficiency(frequencies: NDArray[np.int64]) -> float | None:
    """Return the Shannon entropy of the token distribution over its maximum; `renyi_efficiency` of order 1.

    >>> import numpy as np
    >>> shannon_efficiency(np.array([2, 1, 1, 0]))
    0.75
    """
    return renyi_efficiency(frequencies, alpha=1)


def renyi_efficiency(frequencies: NDArray[np.int64], *, alpha: float = RENYI_ALPHA) -> float | None:
    """Return the Rényi entropy of the token distribution over its maximum, log2 of the vocabulary size.

    Args:
        frequencies: int64[vocab_size], occurrences of each id on the text; zeros count towards the size.
        alpha: the order, at least 0; 1 is Shannon's.

    Returns:
        A share in [0, 1], higher is flatter; None if no token occurred or the vocabulary has one token.

    Source: Zouhar et al. 2023, "Tokenization and the Noiseless Channel", section 3. It divides by the
        full vocabulary, not by the types seen: the two rank tokenizers differently.

    >>> import numpy as np
    >>> renyi_efficiency(np.array([5, 5, 5, 5]))
    1.0
    >>> renyi_efficiency(np.array([7, 0]))
    0.0
    """
    import numpy as np

    total = int(frequencies.sum())
    if not total or len(frequencies) < 2:
        return None
    shares = frequencies[frequencies > 0] / total
    if abs(alpha - 1) < _NEARLY_ONE:
        entropy = -float(shares @ np.log2(shares))
    else:
        # The largest share is factored out of the sum, as powers of small shares would underflow at high orders.
        largest = float(shares.max())
        powers = float(((shares / largest) ** alpha).sum())
        entropy = (alpha * math.log2(largest) + math.log2(powers)) / (1 - alpha)
    return min(max(0.0, entropy) / math.log2(len(frequencies)), 1.0)


def utilization(frequencies: NDArray[np.int64], *, among: NDArray[np.bool_] | None = None) -> float | None:
    """Return the share of tokens that occurred, among all or the chosen ones; None if there are none.

    >>> import numpy as np
    >>> utilization(np.array([3, 0, 1, 0]))
    0.5
    >>> utilization(np.array([3, 0, 1, 0]), among=np.array([True, False, True, False]))
    1.0
    """
    import numpy as np

    chosen = frequencies if among is None else frequencies[among]
    return ratio(int(np.count_nonzero(chosen)), len(chosen))


def average_rank(frequencies: NDArray[np.int64]) -> float | None:
    """Return the mean frequency rank (from 1) over token occurrences.

    >>> import numpy as np
    >>> average_rank(np.array([1, 3]))
    1.25
    """
    import numpy as np

    sorted_frequencies = np.sort(frequencies)[::-1]
    ranks = np.arange(1, len(frequencies) + 1)
    return ratio(float(sorted_frequencies @ ranks), int(frequencies.sum()))


def frequency_deciles(frequencies: NDArray[np.int64]) -> tuple[int, ...] | None:
    """Return the minimum, the nine deciles and the maximum of the frequencies of tokens that occurred.

    Each is an observed frequency (the nearest rank below), without interpolation.

    >>> import numpy as np
    >>> frequency_deciles(np.arange(101))
    (1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
    """
    import numpy as np

    seen = np.sort(frequencies[frequencies > 0])
    if not len(seen):
        return None
    positions = (np.arange(11) * (len(seen) - 1)) // 10
    return tuple(seen[positions].tolist())


def length_histogram(
    frequencies: NDArray[np.int64], lengths: NDArray[np.int64], *, longest: int = 16
) -> tuple[int, ...]:
    """Return token occurrences by length in bytes, from 0; the last entry is for `longest` bytes and more.

    >>> import numpy as np
    >>> length_histogram(np.array([5, 2, 1]), np.array([1, 3, 99]), longest=4)
    (0, 5, 0, 2, 1)
    """
    import numpy as np

    counted = np.bincount(np.minimum(lengths, longest), weights=frequencies, minlength=longest + 1)
    return tuple(counted.astype(np.int64).tolist())
