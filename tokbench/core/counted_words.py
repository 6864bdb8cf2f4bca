"""Distinct words with their counts as arrays, and the hash that assigns words to parts (files).

A word is what a backend counts: a pre-token, a normalized word, a word of a line. Its part is the same on every machine
and in every version, so that counts from different machines can be added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from tokbench.core.wording import counted, was_or_were
from tokbench.errors import TrainingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.documents import TextIdentity
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress

PARTS = 64
"""The number of parts into which words are divided by their hashes."""

PART_SEED = 0x746F6B62656E6368
"""The seed of the hash that assigns words to parts."""

_MASK = (1 << 64) - 1
_SHORT_BYTES = 15


class WordArrays(NamedTuple):
    """Words in bulk: word i is `data[offsets[i]:offsets[i + 1]]`, in UTF-8, and occurs `counts[i]` times.

    Attributes:
        data: uint8, the bytes of all words.
        offsets: int64, one more than there are words.
        counts: int64, the count of each word.
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, words: Iterable[tuple[bytes, int]]) -> WordArrays:
        """Build arrays of words in the given order.

        >>> WordArrays.of([(b"a", 2), (b"the", 7)]).offsets.tolist()
        [0, 1, 4]
        """
        import numpy as np

        given = list(words)
        offsets = np.zeros(len(given) + 1, np.int64)
        np.cumsum([len(word) for word, _ in given], out=offsets[1:])
        data = np.frombuffer(b"".join(word for word, _ in given), np.uint8)
        return cls(data, offsets, np.array([count for _, count in given], np.int64))

    def items(self) -> list[tuple[bytes, int]]:
        """Return the words and their counts as Python objects; meant for few words.

        >>> WordArrays.of([(b"the", 7)]).items()
        [(b'the', 7)]
        """
        data, offsets = self.data.tobytes(), self.offsets.tolist()
        return [
            (data[start:stop], count)
            for start, stop, count in zip(offsets, offsets[1:], self.counts.tolist(), strict=False)
        ]

    def at_least(self, min_count: int) -> WordArrays:
        """Return the words that occur at least `min_count` times.

        >>> WordArrays.of([(b"a", 1), (b"the", 7)]).at_least(2).items()
        [(b'the', 7)]
        """
        import numpy as np

        kept = self.counts >= min_count
        if kept.all():
            return self
        sizes = np.diff(self.offsets)
        offsets = np.zeros(int(kept.sum()) + 1, np.int64)
        np.cumsum(sizes[kept], out=offsets[1:])
        data = self.data[self.offsets[0] : self.offsets[-1]][np.repeat(kept, sizes)]
        return WordArrays(data, offsets, self.counts[kept])


@dataclass(slots=True)
class RareWords:
    """The words that are left out because they are rare.

    Attributes:
        min_count: the smallest count that is kept.
        distinct: the number of words that the latest reading left out.
        occurrences: how often they occur.
    """

    min_count: int
    distinct: int = 0
    occurrences: int = 0

    def note(self, num_words: int) -> tuple[str, ...]:
        """Say what was left out, given the number of word occurrences in the whole text; empty for nothing.

        >>> RareWords(2, distinct=1_500, occurrences=1_500).note(10_000)
        ('1,500 words with a count below 2 were left out: 15.0 % of all word occurrences',)
        """
        if not self.distinct:
            return ()
        share = self.occurrences / num_words * 100
        were = f"{counted(self.distinct, 'word')} with a count below {self.min_count:,} {was_or_were(self.distinct)}"
        return (f"{were} left out: {share:.1f} % of all word occurrences",)


def frequent_words(batches: Iterable[WordArrays], *, rare: RareWords) -> Iterator[WordArrays]:
    """Yield the words that occur at least `rare.min_count` times, without empty batches; count the others in `rare`.

    Raises:
        TrainingError: there are words, and none of them is that frequent.
    """
    rare.distinct = rare.occurrences = 0
    any_kept = False
    for words in batches:
        kept = words.at_least(rare.min_count)
        rare.distinct += len(words.counts) - len(kept.counts)
        rare.occurrences += int(words.counts.sum() - kept.counts.sum())
        if len(kept.counts):
            any_kept = True
            yield kept
    if rare.distinct and not any_kept:
        raise TrainingError(
            f"no word occurs {rare.min_count:,} times or more", hint="give a lower --min-count"
        )


class WordCounter(Protocol):
    """A counter whose words can be read and added in bulk."""

    def drain(self) -> None:
        """Wait until the received text is counted, except for the end of a source that may continue."""

    def arrays(
        self, first: int = 0, last: int = PARTS
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """Return the words of parts `first` to `last`, sorted by bytes, as `WordArrays`; the seed is the counter's."""

    def add_arrays(
        self,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        counts: NDArray[np.int64],
        *,
        first: int = 0,
        last: int = PARTS,
    ) -> None:
        """Add words counted elsewhere whose part is in the range. Raises ValueError for invalid arrays."""

    def add_totals(self, *, documents: int, num_bytes: int, pretokens: int) -> None:
        """Add totals, which `add_arrays` does not add."""

    def clear_counts(self) -> None:
        """Drop the words, but keep the totals."""

    def finish(self) -> None:
        """End the counting; nothing may be added afterwards."""

    @property
    def memory(self) -> int:
        """The approximate size of its tables in bytes."""

    @property
    def documents(self) -> int:
        """The number of documents that are not empty."""

    @property
    def num_bytes(self) -> int:
        """The number of bytes of the documents."""


def part_of(word: bytes, *, seed: int = PART_SEED) -> int:
    """Return the part of a word: the highest bits of its hash. This is the definition; counters compute the same.

    >>> [part_of(word) for word in (b"a", b" the", b"internationalization")]
    [39, 50, 29]
    """
    return (_hash_short(word, seed) if len(word) <= _SHORT_BYTES else _hash_long(word, seed)) >> 58


def _hash_short(word: bytes, seed: int) -> int:
    padded = word.ljust(_SHORT_BYTES, b"\0") + bytes([len(word)])
    return _hash_words(int.from_bytes(padded[:8], "little"), int.from_bytes(padded[8:], "little"), seed)


def _hash_long(word: bytes, seed: int) -> int:
    hashed = len(word)
    whole = len(word) // 8 * 8
    for start in range(0, whole, 8):
        hashed = _hash_words(int.from_bytes(word[start : start + 8], "little"), hashed, seed)
    return _hash_words(int.from_bytes(word[whole:], "little"), hashed, seed)


def _hash_words(first: int, second: int, seed: int) -> int:
    """Fold the two halves of a 128-bit product."""
    product = (first ^ (seed | 1) ^ 0x9E3779B97F4A7C15) * (second ^ 0xD6E8FEB86659FD93 ^ (seed << 1 & _MASK))
    return product & _MASK ^ product >> 64


@dataclass(frozen=True, slots=True)
class WordTotals:
    """Totals of the text from which words were counted.

    Attributes:
        documents: the number of documents that are not empty; None if it is not known.
        num_bytes: the number of UTF-8 bytes of all documents.
        words: the number of word occurrences.
        too_long: the number of word occurrences that were left out because they have too many characters.
    """

    documents: int | None
    num_bytes: int
    words: int
    too_long: int = 0

    def __add__(self, other: WordTotals) -> WordTotals:
        """Return the totals of both texts together."""
        known = self.documents is not None and other.documents is not None
        return WordTotals(
            documents=(self.documents or 0) + (other.documents or 0) if known else None,
            num_bytes=self.num_bytes + other.num_bytes,
            words=self.words + other.words,
            too_long=self.too_long + other.too_long,
        )


class CountedWords(Protocol):
    """Words that were counted earlier, in files or on another machine; each word occurs once."""

    @property
    def totals(self) -> WordTotals:
        """The totals of the text from which they were counted."""

    @property
    def record(self) -> Mapping[str, Any] | None:
        """A JSON description of the words, and of those that were left out, for the training record.

        None for all words of a known text.
        """

    @property
    def identify_text(self) -> Callable[[], TextIdentity] | None:
        """A function that identifies the text of the words; None if the text is not known."""

    @property
    def rare(self) -> RareWords:
        """The words that `arrays` left out because they are rare."""

    @property
    def memory(self) -> int | None:
        """The bytes of memory that training on them may take; None for no limit."""

    @property
    def seconds(self) -> float:
        """The seconds that this process took to count them."""

    def arrays(self) -> Iterator[WordArrays]:
        """Yield the words with their counts, in batches."""


class WordCounting(Protocol):
    """How a backend counts words under a configuration, separately from training."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings, besides the text, on which counts depend, as JSON; counts of equal settings can be added up."""

    @property
    def cuts_at_lines(self) -> bool:
        """Whether a document may be cut after a line that does not end with white space, where a letter follows."""

    def new_counter(self, *, threads: int, seed: int) -> WordCounter:
        """Return a new counter; `seed` determines the parts of its words."""

    def count(self, counter: WordCounter, documents: Iterable[str], *, progress: Progress) -> None:
        """Feed documents to a counter and finish it. Raises `CorpusError`, `TrainingError`."""

    def drain(self, counter: WordCounter) -> None:
        """Make the counter count all text that it has received."""


@runtime_checkable
class TrainsOnWords(Protocol):
    """A backend that can train on counted words as it trains on documents."""

    @property
    def bounds_memory(self) -> bool:
        """Whether training stays within the memory limit of the words."""

    def word_counting(self, config: Any) -> WordCounting:
        """Return how the backend counts words. Raises `ConfigError` for a configuration that needs more than counts."""

    def options_of_words(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the training options that the settings of a count imply. Raises `ConfigError`."""

    def train_on_words(self, words: CountedWords, config: Any, *, progress: Progress) -> Tokenizer:
        """Train a tokenizer. Raises `TrainingError`."""
