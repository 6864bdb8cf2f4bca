"""Counting and training in Python: the interface of the compiled module, for installations without it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tokbench.backends.wordpiece import trainer
from tokbench.backends.wordpiece.library_characters import library_words
from tokbench.core.counting_fallback import PythonDocumentCounter
from tokbench.core.special_tokens import SpecialTokenFinder
from tokbench.core.tokens import SpecialPolicy

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tokbench.backends.wordpiece.kernel import Encoder
    from tokbench.backends.wordpiece.reference import Objective
    from tokbench.core.training import CountProgress

_MOST_PARTS = 1 << 20


class WordCounter(PythonDocumentCounter):
    """A counter of words split by the library; `settled`, `threads` and `seed` are accepted and have no effect."""

    def __init__(
        self,
        *,
        special_tokens: list[str],
        settled: bytearray,
        max_characters_per_word: int,
        clean_text: bool,
        handle_chinese_chars: bool,
        strip_accents: bool,
        lowercase: bool,
        threads: int = 1,
        seed: int = 0,
    ) -> None:
        super().__init__()
        del settled, threads, seed
        if "" in special_tokens:
            raise ValueError("a special token is empty")
        self._finder = SpecialTokenFinder(special_tokens)
        self._most = max_characters_per_word
        self._rules = {
            "clean_text": clean_text,
            "handle_chinese_chars": handle_chinese_chars,
            "strip_accents": strip_accents,
            "lowercase": lowercase,
        }
        self._parts: Counter[str] = Counter()
        self._words: Counter[str] = Counter()
        self.too_long = 0

    def count_document(self, text: str) -> None:
        for piece in self._finder.cut(text, special=SpecialPolicy.ENCODE):
            if not piece.is_special:
                self._parts.update(split_at_spaces(piece.text))
        if len(self._parts) > _MOST_PARTS:
            self.finish()

    def finish(self) -> None:
        """Move the counts of parts to their words, so that each distinct part is normalized only once."""
        for part, count in self._parts.items():
            for word in library_words(part, **self._rules):
                self.add_counted(word, count)
        self._parts.clear()

    def take_unsettled(self) -> list[tuple[str, int]]:
        return []  # the library has normalized everything

    @property
    def counts(self) -> Counter[str]:
        return self._words

    def add_counted(self, word: str, count: int) -> None:
        if count < 1:
            raise ValueError("a count must be positive")
        word.encode()  # raises for lone surrogates here, as the native kernel does
        if len(word) > self._most:
            self.too_long += count
        else:
            self.counts[word] += count

    def items(self) -> list[tuple[str, int]]:
        return list(self.counts.items())

    def characters(self) -> list[tuple[str, int, bool]]:
        counts: Counter[str] = Counter()
        inside: set[str] = set()
        for word, count in self.counts.items():
            inside.update(word[1:])
            for character in word:
                counts[character] += count
        return [(character, counts[character], character in inside) for character in sorted(counts)]

    @property
    def words(self) -> int:
        return self.counts.total()

    @property
    def distinct_words(self) -> int:
        return len(self.counts)


def split_at_spaces(text: str) -> list[str]:
    """Split a text at spaces and line feeds.

    White space ends a word and never composes with other characters, so the words of the parts
    are the words of the text.

    >>> split_at_spaces("don't stop")
    ["don't", 'stop']
    """
    return text.replace("\n", " ").split(" ")


def train(
    counter: WordCounter,
    *,
    pieces: Sequence[str],
    letters: Collection[str],
    num_pieces: int,
    objective: Objective,
    min_frequency: int,
    prefix: str,
    seed: int,
    progress: CountProgress | None,
) -> list[str]:
    """Return the given pieces, followed by the pieces learned from a finished counter."""
    del seed
    if min_frequency < 1:
        raise ValueError("min_frequency must be at least 1")
    return trainer.train(
        dict(counter.items()),
        pieces=pieces,
        letters=letters,
        num_pieces=num_pieces,
        objective=objective,
        min_frequency=min_frequency,
        prefix=prefix,
        progress=progress,
    )


def count_tokens(encoder: Encoder, counter: WordCounter, threads: int) -> int:
    """Return the number of tokens of the words of a finished counter."""
    words, weights = zip(*counter.items(), strict=True) if counter.items() else ((), ())
    counts = encoder.count_batch(list(words), threads).tolist()
    return sum(count * weight for count, weight in zip(counts, weights, strict=True))
