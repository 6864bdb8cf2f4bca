"""The pre-tokens of a text under a byte-level BPE, with their counts."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.backends.bpe.config import BpeConfig
from tokbench.backends.bpe.counting import PretokenCounting
from tokbench.backends.bpe.tokenizer import BpeTokenizer
from tokbench.core.special_tokens import SpecialTokenFinder
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError, ConversionError
from tokbench.formats.tokenizer_json import from_byte_level
from tokbench.lint.reachability.steps import DocumentSteps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus

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
