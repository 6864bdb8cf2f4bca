"""The pre-tokens of a text with their counts, as a byte-level BPE splits it."""

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
    """Distinct pre-tokens of a text.

    Attributes:
        words: they; a byte that is not a whole character as its surrogate escape, since some files split bytes.
        counts: int64, how often each occurs.
        num_bytes: UTF-8 bytes of the text; None where that was not counted.
    """

    words: list[str]
    counts: NDArray[np.int64]
    num_bytes: int | None = None

    @classmethod
    def once(cls, words: Iterable[str]) -> CountedPretokens:
        """Words that count alike."""
        distinct = list(dict.fromkeys(words))
        return cls(distinct, np.ones(len(distinct), np.int64))

    def without(self, missing: bytes) -> CountedPretokens:
        """Those that have none of some bytes.

        >>> CountedPretokens.once(["ab", "b"]).without(b"a").words
        ['b']
        """
        if not missing:
            return self
        lacks = frozenset(missing).isdisjoint
        kept = [number for number, word in enumerate(self.words) if lacks(pretoken_bytes(word))]
        return replace(self, words=[self.words[number] for number in kept], counts=self.counts[kept])


def pretoken_bytes(word: str) -> bytes:
    r"""The bytes of a pre-token, whole characters or not.

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
    """Split a corpus as a tokenizer does, and count what that gives; added tokens are left out.

    Args:
        tokenizer: the tokenizer.
        document: it as a `tokenizer.json`.
        corpus: read once.
        threads: None takes every processor.
        progress: called with how much of the work is done.

    Raises:
        ConversionError: the document does not say how text is split.
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
    """A text → its pre-tokens, without added tokens. Raises `ConversionError` where that is not known."""
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
    """How the kernel counts; None where it does not split as the tokenizer does."""
    if not isinstance(tokenizer, BpeTokenizer):
        return None
    pattern = tokenizer.pattern
    name = (pattern.regex or "none") if pattern.is_custom else pattern.name
    try:
        counting = PretokenCounting(BpeConfig(pattern=name, special_tokens=added, threads=threads))
    except ConfigError:  # a pattern or an added token that a training would not take
        return None
    return counting if counting.pattern == pattern else None


def _library_split(document: Mapping[str, Any]) -> Callable[[str], list[str]]:
    steps = DocumentSteps(document)
    if not steps.pre_tokenizers or not steps.is_byte_level:
        raise ConversionError("its file does not tell how text is split into bytes that merge")

    def split(text: str) -> list[str]:
        return [from_byte_level(part).decode(errors=_ESCAPED) for part in steps.pretokens(text)]

    return split
