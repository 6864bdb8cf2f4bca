"""Distinct words with their counts, in arrays, and the hash that divides them among files.

A word is what a backend counts: a pre-token, a normalized word, a word of a line. Its part is the same everywhere and
in every version, so that what was counted on one machine is summed with what was counted on another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.core.documents import TextIdentity
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress

PARTS = 64
"""Into how many parts words are divided by their hashes."""

PART_SEED = 0x746F6B62656E6368
"""Seeds the hash that divides them."""

_MASK = (1 << 64) - 1
_SHORT_BYTES = 15


class WordArrays(NamedTuple):
    """Words in bulk: number i is `data[offsets[i]:offsets[i + 1]]`, in UTF-8, and occurs `counts[i]` times.

    Attributes:
        data: uint8, the bytes of all words.
        offsets: int64, one more than there are words.
        counts: int64.
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, words: Iterable[tuple[bytes, int]]) -> WordArrays:
        """Arrays of words in the order in which they are given.

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
        """The words and their counts as Python has them: for few.

        >>> WordArrays.of([(b"the", 7)]).items()
        [(b'the', 7)]
        """
        data, offsets = self.data.tobytes(), self.offsets.tolist()
        return [
            (data[start:stop], count)
            for start, stop, count in zip(offsets, offsets[1:], self.counts.tolist(), strict=False)
        ]

    def at_least(self, min_count: int) -> WordArrays:
        """Those that occur at least that many times.

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


class WordCounter(Protocol):
    """A counter whose words can be taken out and put in, in bulk."""

    def drain(self) -> None:
        """Wait until what has arrived is counted, but for the end of a source that may go on."""

    def arrays(
        self, first: int = 0, last: int = PARTS
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """The words of some parts, sorted by bytes: `WordArrays`. Parts are by the seed of the counter."""

    def add_arrays(
        self,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        counts: NDArray[np.int64],
        *,
        first: int = 0,
        last: int = PARTS,
    ) -> None:
        """Words that were counted elsewhere, but for those of other parts. Raises ValueError for what are none."""

    def add_totals(self, *, documents: int, num_bytes: int, pretokens: int) -> None:
        """Add the totals, which `add_arrays` does not contain."""

    def clear_counts(self) -> None:
        """Forget the words, but not the totals."""

    def finish(self) -> None:
        """End the counting; nothing is added afterwards."""

    @property
    def memory(self) -> int:
        """About how many bytes its tables take."""

    @property
    def documents(self) -> int:
        """The number of documents that are not empty."""

    @property
    def num_bytes(self) -> int:
        """The number of their bytes."""


def part_of(word: bytes, *, seed: int = PART_SEED) -> int:
    """The part that a word is in: the uppermost bits of its hash. The definition; counters compute the same.

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
    """The two halves of a product of 128 bits, folded."""
    product = (first ^ (seed | 1) ^ 0x9E3779B97F4A7C15) * (second ^ 0xD6E8FEB86659FD93 ^ (seed << 1 & _MASK))
    return product & _MASK ^ product >> 64


@dataclass(frozen=True, slots=True)
class WordTotals:
    """What words were counted from.

    Attributes:
        documents: documents that were not empty; None where that is not known.
        num_bytes: of all documents, in UTF-8.
        words: occurrences of words.
        too_long: occurrences of words that were left out because they have too many characters.
    """

    documents: int | None
    num_bytes: int
    words: int
    too_long: int = 0

    def __add__(self, other: WordTotals) -> WordTotals:
        """Of both texts together."""
        known = self.documents is not None and other.documents is not None
        return WordTotals(
            documents=(self.documents or 0) + (other.documents or 0) if known else None,
            num_bytes=self.num_bytes + other.num_bytes,
            words=self.words + other.words,
            too_long=self.too_long + other.too_long,
        )


class CountedWords(Protocol):
    """Words that were counted before, in files or on another machine; each of them once."""

    @property
    def totals(self) -> WordTotals:
        """What they were counted from."""

    @property
    def record(self) -> Mapping[str, Any] | None:
        """Which words these are, and which of them were left out, as JSON for the record of a training.

        None for all words of a text that is known.
        """

    @property
    def identify_text(self) -> Callable[[], TextIdentity] | None:
        """Identifies the text that they are from; None where that is not known."""

    @property
    def memory(self) -> int | None:
        """Bytes that learning from them may take; None for no bound."""

    @property
    def seconds(self) -> float:
        """That this process has taken to count them."""

    def arrays(self) -> Iterator[WordArrays]:
        """The words with their counts, in batches."""


class WordCounting(Protocol):
    """How a backend counts words under a configuration, separately from training."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """All that counts depend on besides the text, as JSON. Counts of equal settings can be added up."""

    @property
    def cuts_at_lines(self) -> bool:
        """Whether a document may be cut after a line that does not end with white space, where a letter follows."""

    def new_counter(self, *, threads: int, seed: int) -> WordCounter:
        """A counter; the parts of its words are by the seed."""

    def count(self, counter: WordCounter, documents: Iterable[str], *, progress: Progress) -> None:
        """Pass documents to a counter and finish it. Raises `CorpusError`, `TrainingError`."""

    def drain(self, counter: WordCounter) -> None:
        """Bring all that has arrived into the words of a counter."""


@runtime_checkable
class TrainsOnWords(Protocol):
    """A backend that can learn from counted words as it learns from documents."""

    @property
    def bounds_memory(self) -> bool:
        """Whether learning keeps to the memory that words allow."""

    def word_counting(self, config: Any) -> WordCounting:
        """How it counts. Raises `ConfigError` for a configuration that learns from more than counts."""

    def options_of_words(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """The training options that the settings of a counting stand for. Raises `ConfigError`."""

    def train_on_words(self, words: CountedWords, config: Any, *, progress: Progress) -> Tokenizer:
        """Learn a tokenizer. Raises `TrainingError`."""
