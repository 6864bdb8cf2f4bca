"""Continued training of a byte-level BPE: the pre-tokens of a text with counts, and the new tokens with their parts."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokbench.backends.bpe.config import BpeConfig
from tokbench.backends.bpe.counting import PretokenCounting
from tokbench.backends.bpe.kernel import current_kernel
from tokbench.backends.bpe.tokenizer import BpeTokenizer
from tokbench.core.progress import no_progress
from tokbench.core.special_tokens import SpecialTokenFinder
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError, ConversionError, SurgeryError
from tokbench.formats.tokenizer_json import from_byte_level
from tokbench.lint.reachability.steps import DocumentSteps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.backends.bpe.kernel import Encoder
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.surgery.bpe_document import BpeDocument

_ESCAPED = "surrogateescape"


@dataclass(frozen=True, slots=True)
class CountedPretokens:
    """The distinct pre-tokens of a text with their counts.

    Attributes:
        words: the pre-tokens; bytes of incomplete characters, which some files split, as surrogate escapes.
        counts: int64[N], the occurrences of each.
        num_bytes: UTF-8 bytes of the text; None if not counted.
    """

    words: list[str]
    counts: NDArray[np.int64]
    num_bytes: int | None = None

    @classmethod
    def once(cls, words: Iterable[str]) -> CountedPretokens:
        """Count each distinct word once."""
        distinct = list(dict.fromkeys(words))
        return cls(distinct, np.ones(len(distinct), np.int64))

    def without(self, missing: bytes) -> CountedPretokens:
        """Return the pre-tokens that contain none of the given bytes.

        >>> CountedPretokens.once(["ab", "b"]).without(b"a").words
        ['b']
        """
        if not missing:
            return self
        lacks = frozenset(missing).isdisjoint
        kept = [number for number, word in enumerate(self.words) if lacks(pretoken_bytes(word))]
        return replace(self, words=[self.words[number] for number in kept], counts=self.counts[kept])


def pretoken_bytes(word: str) -> bytes:
    r"""Return the bytes of a pre-token, whose incomplete characters are surrogate escapes.

    >>> pretoken_bytes("f\udcc3")
    b'f\xc3'
    """
    return word.encode(errors=_ESCAPED)


def count_pretokens(
    tokenizer: Tokenizer,
    document: Mapping[str, Any],
    corpus: Corpus,
    *,
    threads: int | None,
    progress: Progress,
) -> CountedPretokens:
    """Split a corpus like a tokenizer, and count the pre-tokens; added tokens are excluded.

    Args:
        tokenizer: the tokenizer.
        document: the tokenizer as a parsed `tokenizer.json`.
        corpus: the corpus, read once.
        threads: number of threads; None uses every processor.
        progress: called with the amount of work done.

    Raises:
        ConversionError: the document does not define how text is split.
        CorpusError: a document cannot be read.
    """
    added = tuple(token["content"] for token in document.get("added_tokens") or [] if token["content"])
    counting = _kernel_counting(tokenizer, added, threads=threads)
    if counting is None:
        counted: Counter[str] = Counter()
        pretokens = split_of(tokenizer, document)
        for text in corpus:
            counted.update(pretokens(text))
        words = sorted(counted)
        return CountedPretokens(words, np.array([counted[word] for word in words], np.int64))
    counter = counting.new_counter(threads=threads or os.cpu_count() or 1, seed=0)
    counting.count(counter, corpus, progress=progress)
    data, offsets, counts = counter.arrays()
    block = data.tobytes()
    words = [block[start:stop].decode() for start, stop in pairwise(offsets.tolist())]
    return CountedPretokens(words, counts, counter.num_bytes)


def split_of(tokenizer: Tokenizer, document: Mapping[str, Any]) -> Callable[[str], list[str]]:
    """Return a function that splits a text into pre-tokens without added tokens. Raises `ConversionError`."""
    added = {token["content"]: token["id"] for token in document.get("added_tokens") or []}
    split = tokenizer.pretokens if isinstance(tokenizer, BpeTokenizer) else _library_split(document)
    finder = SpecialTokenFinder({text: id for text, id in added.items() if text})

    def pretokens(text: str) -> list[str]:
        pieces = (
            piece.text for piece in finder.cut(text, special=SpecialPolicy.ENCODE) if not piece.is_special
        )
        return [pretoken for piece in pieces for pretoken in split(piece)]

    return pretokens


def _kernel_counting(
    tokenizer: Tokenizer, added: tuple[str, ...], *, threads: int | None
) -> PretokenCounting | None:
    """Return the kernel's counting; None if the kernel does not split like the tokenizer."""
    if not isinstance(tokenizer, BpeTokenizer):
        return None
    pattern = tokenizer.pattern
    name = (pattern.regex or "none") if pattern.is_custom else pattern.name
    try:
        counting = PretokenCounting(BpeConfig(pattern=name, special_tokens=added, threads=threads))
    except ConfigError:  # training does not accept the pattern or an added token
        return None
    return counting if counting.pattern == pattern else None


def _library_split(document: Mapping[str, Any]) -> Callable[[str], list[str]]:
    steps = DocumentSteps(document)
    if not steps.pre_tokenizers or not steps.is_byte_level:
        raise ConversionError("its file does not define how text is split into pre-tokens of bytes")

    def split(text: str) -> list[str]:
        return [from_byte_level(part).decode(errors=_ESCAPED) for part in steps.pretokens(text)]

    return split


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
        tokens: bytes of each id; empty for gaps, special tokens and other added tokens that no merge makes.
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
        for left, right, merged in merges:
            tokens[merged] = tokens[left] + tokens[right]  # also of an added token that is made by merges
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
