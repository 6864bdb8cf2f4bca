"""Continued training of a byte-level BPE: the new tokens after the old ones, and the parts of each."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokbench.backends.bpe.kernel import current_kernel
from tokbench.core.progress import no_progress
from tokbench.errors import SurgeryError
from tokbench.surgery.counted_pretokens import pretoken_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.backends.bpe.kernel import Encoder
    from tokbench.core.progress import Progress
    from tokbench.surgery.bpe_document import BpeDocument
    from tokbench.surgery.counted_pretokens import CountedPretokens

_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")


class NewToken(NamedTuple):
    """A learned token: the ids of its parts, and the number of their adjacent occurrences."""

    left: int
    right: int
    count: int  # type: ignore[assignment]  # shadows tuple.count, which is not used


class Cut(NamedTuple):
    """Tokenized words: word i has the ids ids[offsets[i] : offsets[i + 1]]."""

    ids: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    def with_parts(self, parts: Mapping[int, Sequence[int]]) -> Cut:
        """Insert the ids of words that were empty so far.

        Args:
            parts: index of a word → its ids, in ascending order of the indices.

        >>> found = Cut(np.array([7, 8], np.uint32), np.array([0, 1, 1, 2])).with_parts({1: [5, 6]})
        >>> found.ids.tolist(), found.offsets.tolist()
        ([7, 5, 6, 8], [0, 1, 3, 4])
        """
        numbers, sizes = list(parts), [len(ids) for ids in parts.values()]
        ids = np.array([id for part in parts.values() for id in part], np.uint32)
        lengths = np.diff(self.offsets)
        lengths[numbers] = sizes
        places = np.repeat(self.offsets[numbers], sizes)
        return Cut(np.insert(self.ids, places, ids), np.concatenate([[0], np.cumsum(lengths)]))


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokens and merges of a byte-level BPE.

    Attributes:
        tokens: bytes of each id; empty for gaps, special tokens and other added tokens.
        merges: (left id, right id, merged id) in rank order.
        whole_tokens_first: whether a pre-token in the vocabulary becomes that token without merging.
    """

    tokens: tuple[bytes, ...]
    merges: tuple[tuple[int, int, int], ...]
    whole_tokens_first: bool = False

    @classmethod
    def of(cls, bpe: BpeDocument, *, size: int) -> Vocabulary:
        """Build the vocabulary of a document, whose first new id is `size`."""
        tokens = [b""] * size
        for id, token in bpe.token_bytes.items():
            tokens[id] = token
        ranked = sorted(bpe.ranks, key=bpe.ranks.__getitem__)
        merges = tuple((bpe.vocab[left], bpe.vocab[right], bpe.vocab[left + right]) for left, right in ranked)
        return cls(tuple(tokens), merges, bpe.whole_tokens_first)

    def grown(self, new: Sequence[NewToken]) -> Vocabulary:
        """Return the vocabulary with further tokens appended.

        >>> letters = tuple(bytes([value]) for value in range(256))
        >>> grown = Vocabulary(letters, ()).grown([NewToken(97, 98, 2), NewToken(256, 99, 1)])
        >>> grown.tokens[256:], grown.merges
        ((b'ab', b'abc'), ((97, 98, 256), (256, 99, 257)))
        """
        tokens, merges = list(self.tokens), list(self.merges)
        for left, right, _ in new:
            merges.append((left, right, len(tokens)))
            tokens.append(tokens[left] + tokens[right])
        return Vocabulary(tuple(tokens), tuple(merges), self.whole_tokens_first)

    def cut(self, words: list[str], *, threads: int | None) -> Cut:
        """Tokenize words; every byte of theirs must have a token."""
        encoder = self._encoder()
        parts = {
            number: encoder.encode_bytes(pretoken_bytes(word))
            for number, word in enumerate(words)
            if not word.isascii() and _ESCAPED_BYTE.search(word)
        }
        texts = ["" if number in parts else word for number, word in enumerate(words)] if parts else words
        cut = Cut(*encoder.encode_batch(texts, threads or os.cpu_count() or 1))
        return cut.with_parts(parts) if parts else cut

    @property
    def missing_bytes(self) -> bytes:
        """The bytes without a token: bytes that are rare or impossible in text, such as 192."""
        known = {token for token in self.tokens if len(token) == 1}
        return bytes(byte for byte in range(256) if bytes([byte]) not in known)

    def _encoder(self) -> Encoder:
        merges = np.array(self.merges, dtype=np.uint32).reshape(-1, 3)
        # The kernel requires a token for every byte; words never contain the ones appended here.
        tokens = [*self.tokens, *(bytes([byte]) for byte in self.missing_bytes)]
        try:
            return current_kernel().encoder_from_parts(
                tokens, merges, whole_tokens_first=self.whole_tokens_first, pattern=None
            )
        except ValueError as error:
            raise SurgeryError(f"it cannot be extended: {error}") from None


def grow(
    vocabulary: Vocabulary,
    words: CountedPretokens,
    *,
    num_tokens: int,
    min_frequency: int,
    max_token_length: int | None = None,
    threads: int | None,
    progress: Progress = no_progress,
) -> list[NewToken]:
    """Learn further tokens: a fast `tokbench.backends.bpe.reference.continue_training` of a vocabulary.

    Args:
        vocabulary: the old tokens, which the words are first split into.
        words: the words with their counts.
        num_tokens: number of tokens to learn; fewer if pairs run out.
        min_frequency: learning stops when the most frequent pair is rarer.
        max_token_length: maximum bytes of a token; None for no limit.
        threads: number of threads for tokenizing the words; None uses every processor.
        progress: called with the number of learned tokens.

    Returns:
        The new tokens in order; the first has the id after the last old one.

    Raises:
        SurgeryError: the kernel rejects the vocabulary.
    """
    cut = vocabulary.cut(words.words, threads=threads)
    pairs, counts, _ = current_kernel().continue_training(
        cut.ids,
        cut.offsets,
        words.counts,
        list(vocabulary.tokens),
        num_merges=num_tokens,
        min_frequency=min_frequency,
        max_token_length=max_token_length or 0,
        max_words=0,
        excluded=b"",
        seed=0,
        progress=lambda done: progress("merging", done, num_tokens, "merges"),
    )
    return [
        NewToken(left, right, count)
        for (left, right), count in zip(pairs.tolist(), counts.tolist(), strict=True)
    ]


def made_of(new: Sequence[NewToken], *, first_id: int) -> dict[int, list[int]]:
    """Map each new id to the old ids that spell it, in order.

    >>> made_of([NewToken(97, 98, 2), NewToken(256, 99, 1)], first_id=256)
    {256: [97, 98], 257: [97, 98, 99]}
    """
    made: dict[int, list[int]] = {}
    for id, (left, right, _) in enumerate(new, first_id):
        made[id] = [*made.get(left, [left]), *made.get(right, [right])]
    return made


def unchanged_words(
    vocabulary: Vocabulary, grown: Vocabulary, words: list[str], *, threads: int | None
) -> int | None:
    """Count the words that a grown vocabulary tokenizes as before; None if a word has a new token boundary.

    Args:
        vocabulary: the old vocabulary.
        grown: the old vocabulary with new tokens.
        words: the words.
        threads: number of threads; None uses every processor.
    """
    before, after = (each.cut(words, threads=threads) for each in (vocabulary, grown))
    ends, new_ends = (
        np.cumsum(_lengths(each)[cut.ids]) for each, cut in ((vocabulary, before), (grown, after))
    )
    if not np.isin(new_ends, ends, assume_unique=True).all():
        return None
    return int((np.diff(before.offsets) == np.diff(after.offsets)).sum())


def _lengths(vocabulary: Vocabulary) -> NDArray[np.int64]:
    return np.array([len(token) for token in vocabulary.tokens], np.int64)
