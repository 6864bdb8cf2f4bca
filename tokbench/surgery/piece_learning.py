"""Learning of pieces from words, for any algorithm: the text with the most votes, or the highest value, is added.

The definitions are in `extension_reference.py`. Here, only words that contain the text of a new piece are segmented
again, and only their votes are recounted.
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
"""Prefix of a part of a word that is not a piece."""

Parts = tuple[str, ...]


class Change(NamedTuple):
    """A word whose segmentation a new piece changes: its count, and its parts before and after."""

    count: int  # type: ignore[assignment]  # shadows tuple.count, which is not used
    before: Parts
    after: Parts


class GrowingPieces(Protocol):
    """A growing set of pieces, and its segmentation of words."""

    def cut(self, word: str) -> Parts:
        """Segment a word; a character that is not a piece is preceded by `UNKNOWN`."""

    def cut_with_new_piece(self, word: str, parts: Parts, text: str) -> Parts:
        """Return the parts of a word after the piece `text` was added, given its parts before: segment it again."""
        del parts, text
        return self.cut(word)

    def votes(self, parts: Parts) -> Iterator[str]:
        """Yield the texts that could become pieces given these parts; some may be pieces already."""

    def value(self, text: str, votes: int) -> float:
        """Return the value by which pieces are chosen; 0 for a piece that must not be added."""

    def add(self, text: str, votes: int) -> None:
        """Add a piece."""

    def drop(self, text: str) -> None:
        """Remove an added piece."""

    def accepts(self, text: str, changes: Sequence[Change]) -> bool:
        """Whether an added piece may stay, given the words that it changes; by default, always."""
        del text, changes
        return True

    def lost(self, used: Collection[str]) -> list[str]:
        """Return the added pieces to remove: no piece needs them, and no word uses them or their own text is split."""


class WordIndex:
    """An index that finds the words that contain a text, by the text's rarest pair of adjacent characters.

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
        """Return the indices of the words that contain a text, in ascending order."""
        keys = [left + right for left, right in pairwise(text)] or [text]
        fewest = min((self._holding.get(key, []) for key in keys), key=len)
        return [number for number in fewest if text in self._words[number]]


class PieceLearner:
    """Learns pieces from words.

    Args:
        pieces: the existing pieces, to which new ones are added.
        words: word → count.
        min_frequency: minimum number of votes for a new piece.
        may_be_piece: whether a text may become a piece.
        text_of: returns the text of a piece as it appears in words.
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
        self._push(self._votes)

    def learn(self, most: int | None, *, progress: Progress = no_progress) -> list[str]:
        """Learn up to `most` pieces, or as many as possible if it is None, and return them."""
        taken: list[str] = []
        while True:
            while (most is None or len(taken) < most) and (text := self._best()) is not None:
                if self._add_piece(text):
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
            if -negative == self._pieces.value(text, self._votes[text]) and self._may_be_added(text):
                return text
        return None

    def _may_be_added(self, text: str) -> bool:
        return (
            text not in self._refused
            and self._votes[text] >= self._min_frequency
            and self._may_be_piece(text)
        )

    def _add_piece(self, text: str) -> bool:
        """Add a piece, segment the words that contain it again, and return whether it stays."""
        pieces = self._pieces
        pieces.add(text, self._votes[text])
        numbers = self._index.holding(self._text_of(text))
        cuts = (
            (number, pieces.cut_with_new_piece(self._words[number], self._cuts[number], text))
            for number in numbers
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
        self._push(touched)
        return True

    def _push(self, texts: Iterable[str]) -> None:
        for text in texts:
            votes = self._votes[text]
            if votes >= self._min_frequency and (value := self._pieces.value(text, votes)) > 0:
                heapq.heappush(self._waiting, (-value, text))
