"""The WordPiece kernel in Python: the interface of the compiled module, for installations without it.

Each character is normalized by the installed library; the reference finds the pieces of a word.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokbench.backends.wordpiece import trainer
from tokbench.backends.wordpiece.agreement import is_movable, library_words
from tokbench.backends.wordpiece.reference import longest_match
from tokbench.core.character_agreement import unmarked_in_python as unmarked
from tokbench.core.counting_fallback import PythonDocumentCounter
from tokbench.core.kernel_or_library import EncodesOneByOne
from tokbench.core.special_tokens import SpecialTokenFinder
from tokbench.core.tokens import SpecialPolicy

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from tokbench.backends.wordpiece.reference import Objective
    from tokbench.core.training import CountProgress


__all__ = [
    "Encoder",
    "WordCounter",
    "count_tokens",
    "is_movable",
    "normal_words",
    "settled_marks",
    "train",
    "unmarked",
]

CHARACTER_TABLES = ""
"""The version of the character tables: empty, as the installed library normalizes the characters."""
_MOST_CACHED = 1 << 16
_NONE = -1
_WORDS = re.compile(r"[^ \t\n\r]+")


class _Word(NamedTuple):
    """A word after BERT's normalization, with the byte span of the original character of each of its characters."""

    text: str
    places: list[tuple[int, int]]


def normal_words(
    text: str, *, clean_text: bool, handle_chinese_chars: bool, strip_accents: bool, lowercase: bool
) -> list[str]:
    """Return the words of a text, with each character normalized independently."""
    normal = _Characters(clean_text, handle_chinese_chars, strip_accents, lowercase)
    return [word.text for word in normal.words(text)]


def settled_marks(strip_accents: bool) -> bytes:  # noqa: FBT001 - as in the compiled module
    """Return a table of zeros, as agreement with the library is not known in advance."""
    del strip_accents
    return bytes(0x110000)


class _Characters(dict[str, tuple[str, ...]]):
    """A lazily filled map from each character to what it adds to a text.

    The value is a tuple of strings: the first is appended to the current word, and each further one begins a new word.
    """

    def __init__(self, *options: bool) -> None:
        names = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
        self._rules = dict(zip(names, options, strict=True))

    def __missing__(self, character: str) -> tuple[str, ...]:
        first, *others = library_words(f"a{character}b", **self._rules)
        # "a" and "b" are lower case, so that normalization does not change them.
        parts = (first[1:], *others)
        parts = (*parts[:-1], parts[-1][:-1])
        self[character] = parts
        return parts

    def words(self, text: str) -> Iterator[_Word]:
        """Yield the words of a text."""
        word, places = "", list[tuple[int, int]]()
        stop = 0
        for character in text:
            start, stop = stop, stop + len(character.encode())
            for number, part in enumerate(self[character]):
                if number and word:
                    yield _Word(word, places)
                    word, places = "", []
                word += part
                places += [(start, stop)] * len(part)
        if word:
            yield _Word(word, places)


class Encoder(EncodesOneByOne):
    """An encoder with one vocabulary; see `tokbench.backends.wordpiece.kernel`."""

    def __init__(
        self,
        pieces: list[bytes],
        ids: NDArray[np.uint32],
        *,
        prefix: str,
        unknown: int,
        max_characters_per_word: int,
        clean_text: bool,
        handle_chinese_chars: bool,
        strip_accents: bool,
        lowercase: bool,
    ) -> None:
        spellings = [piece.decode() for piece in pieces]
        if "" in spellings or len(set(spellings)) != len(spellings):
            raise ValueError("a piece is empty, or occurs twice")
        self._vocabulary = dict(zip(spellings, ids.tolist(), strict=True))
        self._sizes = {id: len(spelling) for spelling, id in self._vocabulary.items()}
        self._prefix, self._unknown, self._most = prefix, unknown, max_characters_per_word
        self._longest = max(self._sizes.values(), default=0)
        self._characters = _Characters(clean_text, handle_chinese_chars, strip_accents, lowercase)
        self._cache: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        text.encode()
        ids: list[int] = []
        for part in _WORDS.findall(text):
            ids += self._ids_of(part)
        return ids

    def place_batch(
        self, texts: list[str], threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        del threads
        rows: list[tuple[int, int, int]] = []
        counts: list[int] = []
        for text in texts:
            text.encode()
            before = len(rows)
            for word in self._characters.words(text):
                rows += self._placed(word)
            counts.append(len(rows) - before)
        table = np.array(rows, np.int64).reshape(-1, 3)
        ids, starts, stops = (np.ascontiguousarray(table[:, column]) for column in range(3))
        return ids.astype(np.uint32), starts, stops, np.array(counts, np.int64)

    def _ids_of(self, part: str) -> list[int]:
        ids = self._cache.get(part)
        if ids is None:
            words = self._characters.words(part)
            ids = [id for word in words for id in self._matched(word.text) or [self._unknown]]
            if len(self._cache) >= _MOST_CACHED:
                self._cache.clear()
            self._cache[part] = ids
        return ids

    def _matched(self, word: str) -> list[int]:
        """Return the ids of a word; empty if it is unknown."""
        ids = longest_match(
            word,
            self._vocabulary,
            unknown=_NONE,
            prefix=self._prefix,
            max_characters=self._most,
            longest=self._longest,
        )
        return [] if ids == [_NONE] else ids

    def _placed(self, word: _Word) -> Iterator[tuple[int, int, int]]:
        """Yield the ids of a word with their byte spans in the text."""
        first = 0
        for number, id in enumerate(ids := self._matched(word.text)):
            stop = first + self._sizes[id] - (len(self._prefix) if number else 0)
            yield id, word.places[first][0], word.places[stop - 1][1]
            first = stop
        if not ids:
            yield self._unknown, word.places[0][0], word.places[-1][1]


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
