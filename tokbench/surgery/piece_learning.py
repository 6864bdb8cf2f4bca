"""Learning pieces from words, whatever the algorithm: what has most votes, or is worth most, becomes a piece.

The definitions are in `extension_reference.py`. Here words are cut anew only where they hold the text of a new piece,
and only the votes of these are cast again.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tokbench.core.progress import no_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from tokbench.core.progress import Progress

UNKNOWN = "\0"
"""Marks a part of a word that is not a piece."""

Parts = tuple[str, ...]


class Change(NamedTuple):
    """A word whose parts are others with one more piece: how often it occurs, and its parts."""

    count: int  # type: ignore[assignment]  # tuple.count is not missed here
    before: Parts
    after: Parts


class GrowingPieces(Protocol):
    """Pieces that become more, and how they cut words."""

    def cut(self, word: str) -> Parts:
        """The parts of a word; a character that is not a piece has `UNKNOWN` before it."""

    def cut_anew(self, word: str, parts: Parts, text: str) -> Parts:
        """The parts of a word that is cut into some, when one more piece was made."""

    def votes(self, parts: Parts) -> Iterator[str]:
        """What could become a piece by these parts, or is one already."""

    def value(self, text: str, votes: int) -> float:
        """What a piece is chosen by; 0 where it is not worth anything."""

    def add(self, text: str, votes: int) -> None:
        """Make a piece."""

    def drop(self, text: str) -> None:
        """Take the last piece that was made back."""

    def accepts(self, text: str, changes: Sequence[Change]) -> bool:
        """Whether a piece that was made may stay, by what words it changes."""

    def lost(self, used: Collection[str]) -> list[str]:
        """Which pieces that were made may go again: no others need them, and no word has them, nor their own text."""


class WordIndex:
    """Finds the words that hold a text, by the rarest two characters of it.

    >>> WordIndex(["abc", "bcd", "cb"]).holding("bc")
    [0, 1]
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._holding: defaultdict[str, list[int]] = defaultdict(list)
        for number, word in enumerate(words):
            for text in {*word, *(left + right for left, right in pairwise(word))}:
                self._holding[text].append(number)

    def holding(self, text: str) -> list[int]:
        """The numbers of the words, in order."""
        keys = [left + right for left, right in pairwise(text)] or [text]
        fewest = min((self._holding.get(key, []) for key in keys), key=len)
        return [number for number in fewest if text in self._words[number]]


class PieceLearner:
    """Learns pieces from words.

    Args:
        pieces: those that there are, which grow.
        words: text → count.
        min_frequency: what has fewer votes never comes.
        may_be_piece: whether a text may become a piece.
        text_of: the text that words hold where a piece may be used.
    """

    def __init__(
        self,
        pieces: GrowingPieces,
        words: Mapping[str, int],
        *,
        min_frequency: int = 2,
        may_be_piece: Callable[[str], bool] = bool,
        text_of: Callable[[str], str] = str,
    ) -> None:
        self._pieces = pieces
        self._words = list(words)
        self._counts = list(words.values())
        self._min_frequency = min_frequency
        self._may_be_piece = may_be_piece
        self._text_of = text_of
        self._index = WordIndex(self._words)
        self._cuts = [pieces.cut(word) for word in self._words]
        self._votes: Counter[str] = Counter()
        self._refused: set[str] = set()
        self._waiting: list[tuple[float, str]] = []
        for count, parts in zip(self._counts, self._cuts, strict=True):
            for text in pieces.votes(parts):
                self._votes[text] += count
        self._wait(self._votes)

    def learn(self, most: int | None, *, progress: Progress = no_progress) -> list[str]:
        """The pieces that come: this many, or all that do."""
        taken: list[str] = []
        while True:
            while (most is None or len(taken) < most) and (text := self._best()) is not None:
                if self._take(text):
                    taken.append(text)
                    progress("learning", len(taken), most, "pieces")
            used = {part for parts in self._cuts for part in parts}
            lost = set(self._pieces.lost(used)).intersection(taken)
            if not lost:
                return taken
            for text in lost:
                self._pieces.drop(text)
            self._refused |= lost
            taken = [text for text in taken if text not in lost]

    def _best(self) -> str | None:
        while self._waiting:
            negative, text = heapq.heappop(self._waiting)
            if -negative == self._pieces.value(text, self._votes[text]) and self._may_come(text):
                return text
        return None

    def _may_come(self, text: str) -> bool:
        return (
            text not in self._refused
            and self._votes[text] >= self._min_frequency
            and self._may_be_piece(text)
        )

    def _take(self, text: str) -> bool:
        """Make a piece, and cut the words anew that hold it; whether it stays."""
        pieces = self._pieces
        pieces.add(text, self._votes[text])
        numbers = self._index.holding(self._text_of(text))
        cuts = (
            (number, pieces.cut_anew(self._words[number], self._cuts[number], text)) for number in numbers
        )
        changed = [(number, parts) for number, parts in cuts if parts != self._cuts[number]]
        changes = [Change(self._counts[number], self._cuts[number], parts) for number, parts in changed]
        if not pieces.accepts(text, changes):
            pieces.drop(text)
            self._refused.add(text)
            return False
        touched = set()
        for count, before, after in changes:
            for vote in pieces.votes(before):
                self._votes[vote] -= count
                touched.add(vote)
            for vote in pieces.votes(after):
                self._votes[vote] += count
                touched.add(vote)
        for number, parts in changed:
            self._cuts[number] = parts
        self._wait(touched)
        return True

    def _wait(self, texts: Iterable[str]) -> None:
        for text in texts:
            votes = self._votes[text]
            if votes >= self._min_frequency and (value := self._pieces.value(text, votes)) > 0:
                heapq.heappush(self._waiting, (-value, text))
