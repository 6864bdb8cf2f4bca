"""The words of texts, as BERT has them, and how often each occurs.

They are made by the normaliser and the pre-tokenizer of the `tokenizers` library that later
encode, so that training and encoding see the same words.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokbench.core.base import utf8
from tokbench.core.progress import reading_of
from tokbench.core.special_tokens import SpecialTokenFinder
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.training import refuse_one_text
from tokbench.errors import TrainingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.backends.wordpiece.config import WordPieceConfig
    from tokbench.core.progress import Progress

_MOST_PARTS = 1 << 20
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
    refuse_one_text(documents)
    splitter = _Splitter(config)
    finder = SpecialTokenFinder(config.all_special_tokens)
    counted = WordCounts()
    counts: Counter[str] = Counter()
    reported, read = time.monotonic(), reading_of(documents)
    for number, text in enumerate(documents):
        if not isinstance(text, str):
            raise TrainingError(f"document {number} is {type(text).__name__}, where a string is needed")
        counted.documents += bool(text)
        counted.num_bytes += len(utf8(text))
        for piece in finder.cut(text, special=SpecialPolicy.ENCODE):
            if not piece.is_special:
                counts.update(split_at_spaces(piece.text))
        if len(counts) > _MOST_PARTS:
            _add_words(counted.words, counts, splitter)
        if time.monotonic() - reported > _SECONDS_BETWEEN_REPORTS:
            progress("counting", *read(counted.num_bytes), "bytes")
            reported = time.monotonic()
    _add_words(counted.words, counts, splitter)
    for word in [word for word in counted.words if len(word) > config.max_characters_per_word]:
        counted.too_long += counted.words.pop(word)
    return counted


def split_at_spaces(text: str) -> list[str]:
    """The parts of a text between spaces and line ends.

    White space ends a word and takes no part in a composition, so that the words of the parts
    are the words of the text.

    >>> split_at_spaces("don't stop")
    ["don't", 'stop']
    """
    return text.replace("\n", " ").split(" ")


def _add_words(words: Counter[str], counts: Counter[str], splitter: _Splitter) -> None:
    """Move the counts of parts to their words: each is normalised once, however often it occurs."""
    for part, count in counts.items():
        for word in splitter.words(part):
            words[word] += count
    counts.clear()


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
