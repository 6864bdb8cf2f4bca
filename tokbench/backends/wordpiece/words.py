"""The words of texts, as BERT has them, and how often each occurs.

They are made by the normaliser and the pre-tokenizer of the `tokenizers` library that later
encode, so that training and encoding see the same words.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokbench.base import utf8
from tokbench.errors import TrainingError
from tokbench.special_tokens import SpecialTokenFinder
from tokbench.tokens import SpecialPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.backends.wordpiece.config import WordPieceConfig
    from tokbench.interfaces import Progress

_BLOCK_CHARACTERS = 1 << 16
_SECONDS_BETWEEN_REPORTS = 0.1


@dataclass(slots=True)
class WordCounts:
    """What was counted.

    Attributes:
        words: how often each word occurs.
        documents: documents that were not empty.
        num_bytes: their UTF-8 bytes.
        too_long: words that were left out because they are longer than a word may be.
    """

    words: Counter[str] = field(default_factory=Counter)
    documents: int = 0
    num_bytes: int = 0
    too_long: int = 0


def count_words(documents: Iterable[str], config: WordPieceConfig, *, progress: Progress) -> WordCounts:
    """The words of documents; they are streamed, cut at special tokens and never joined.

    Raises:
        TrainingError: what was given is no iterable of texts.
        TextError: a text holds a lone surrogate.
    """
    if isinstance(documents, str | bytes):
        raise TrainingError(
            "documents is one text, where an iterable of texts is needed",
            hint="pass [text], or open_corpus(path)",
        )
    splitter = _Splitter(config)
    finder = SpecialTokenFinder(config.all_special_tokens)
    counted = WordCounts()
    reported = time.monotonic()
    for number, text in enumerate(documents):
        if not isinstance(text, str):
            raise TrainingError(f"document {number} is a {type(text).__name__}, where a string is needed")
        counted.documents += bool(text)
        counted.num_bytes += len(utf8(text))
        for piece in finder.cut(text, special=SpecialPolicy.ENCODE):
            if not piece.is_special:
                for block in blocks(piece.text):
                    counted.words.update(splitter.words(block))
        if time.monotonic() - reported > _SECONDS_BETWEEN_REPORTS:
            progress("counting", counted.num_bytes, None, "bytes")
            reported = time.monotonic()
    for word in [word for word in counted.words if len(word) > config.max_characters_per_word]:
        counted.too_long += counted.words.pop(word)
    return counted


def blocks(text: str, *, size: int = _BLOCK_CHARACTERS) -> Iterator[str]:
    """A text in blocks of about `size` characters, cut before spaces and line ends only.

    The library keeps several numbers for each character of a text that it splits. White space ends
    a word and neither takes part in a composition nor belongs to a word, so a cut there changes none.

    >>> list(blocks("one two three", size=5))
    ['one two', ' three']
    """
    start = 0
    while len(text) - start > size:
        stop = min(
            (place for mark in " \n" if (place := text.find(mark, start + size)) >= 0), default=len(text)
        )
        yield text[start:stop]
        start = stop
    if start < len(text):
        yield text[start:]


class _Splitter:
    """The library's normaliser and pre-tokenizer, as the configuration has them."""

    def __init__(self, config: WordPieceConfig) -> None:
        from tokenizers.normalizers import BertNormalizer
        from tokenizers.pre_tokenizers import BertPreTokenizer

        self._normalizer: Any = BertNormalizer(
            clean_text=config.clean_text,
            handle_chinese_chars=config.handle_chinese_chars,
            strip_accents=config.strip_accents,
            lowercase=config.lowercase,
        )
        self._pre_tokenizer: Any = BertPreTokenizer()

    def words(self, text: str) -> Iterator[str]:
        normal = self._normalizer.normalize_str(text)
        return (word for word, _ in self._pre_tokenizer.pre_tokenize_str(normal))
