"""The WordPiece kernel in Python: the interface of the compiled module, for installations without it.

Each character is normalized by the installed library; `longest_match.py` finds the pieces.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokbench.backends.wordpiece.fallback_training import WordCounter, count_tokens, train
from tokbench.backends.wordpiece.library_characters import is_movable, library_words
from tokbench.backends.wordpiece.longest_match import longest_match
from tokbench.core.character_agreement import unmarked_in_python as unmarked
from tokbench.core.kernel_or_library import EncodesOneByOne

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

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
