"""Choice of the pieces to remove from a WordPiece, by the tokens that a text gains: a fast `reference.prune_matches`.

The loss of a piece is a sum over the words that contain it as a token. For each word, the number of tokens without
each of its own tokens is stored, with all pieces involved; when one of these is removed, the word is matched again.
An unknown word is matched again when one of its matched pieces is removed, since a shorter match may succeed.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from tokbench.surgery.leaves import Remaining

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokbench.surgery.matched_pieces import MatchedPieces


class _Word(NamedTuple):
    """The current matches of a word.

    Attributes:
        tokens: ids of its pieces; empty for an unknown word.
        gains: token → number of tokens that the word gains without it; None if the word would become unknown.
        looked_at: all pieces that these values depend on, including the matches before a failure.
    """

    tokens: tuple[int, ...]
    gains: Mapping[int, int | None]
    looked_at: frozenset[int]


class MatchLosses(Remaining):
    """A WordPiece from which pieces are removed, those that add the fewest tokens first, unless words become unknown.

    Args:
        vocabulary: the pieces.
        words: word → count.
    """

    def __init__(self, vocabulary: MatchedPieces, words: Mapping[str, int] | None = None) -> None:
        super().__init__(vocabulary.ids, vocabulary.kept)
        self._vocabulary = vocabulary
        self._pieces = {piece: id for id, piece in vocabulary.texts.items()}
        self._longest = max(map(len, self._pieces), default=0)
        self._fixed = vocabulary.kept | vocabulary.needed
        self._counts = dict(words or {})
        self._words: dict[str, _Word] = {}
        self._words_of: defaultdict[int, set[str]] = defaultdict(set)
        self._losses: Counter[int] = Counter()
        self._needing: Counter[int] = Counter()
        self._changed: set[int] = set()
        for word in self._counts:
            self._add(word)

    def remove(self, may_go: Callable[[int], bool], *, most: int = 0) -> None:
        """Remove pieces that satisfy `may_go`, in order of ascending loss, while more than `most` tokens remain."""
        waiting = [(self._losses[id], -id) for id in self.ids if self._may_be_removed(id)]
        heapq.heapify(waiting)
        while waiting and len(self.ids) > most:
            loss, negative = heapq.heappop(waiting)
            if -negative not in self.ids or loss != self._losses[-negative]:
                continue  # an outdated item
            if not self._may_be_removed(-negative) or not may_go(-negative):
                continue
            self._changed.clear()
            self._remove(-negative)
            for id in self._changed & self.ids:
                if self._may_be_removed(id):
                    heapq.heappush(waiting, (self._losses[id], -id))

    def _may_be_removed(self, id: int) -> bool:
        return id not in self._fixed and not self._needing[id]

    def _remove(self, id: int) -> None:
        del self._pieces[self._vocabulary.texts[id]]
        self.ids.remove(id)
        self.removed.append(id)
        for word in sorted(self._words_of.pop(id, ())):
            self._count_word(word, sign=-1)
            self._add(word)

    def _add(self, word: str) -> None:
        """Match a word, and add its counts."""
        found, is_known = self._longest_matches(word)
        tokens = found if is_known else ()
        others = {token: self._longest_matches(word, without=token) for token in set(tokens)}
        gains = {
            token: len(other) - len(tokens) if still_known else None
            for token, (other, still_known) in others.items()
        }
        looked_at = frozenset(found).union(*(other for other, _ in others.values()))
        self._words[word] = _Word(tokens, gains, looked_at)
        for piece in looked_at:
            self._words_of[piece].add(word)
        self._count_word(word, sign=1)

    def _count_word(self, word: str, *, sign: int) -> None:
        """Add the counts of a word (sign 1), or subtract them (sign -1)."""
        found, count = self._words[word], sign * self._counts[word]
        for token in found.tokens:
            self.frequencies[token] += count
        for token, gain in found.gains.items():
            self._changed.add(token)
            if gain is None:
                self._needing[token] += sign
            else:
                self._losses[token] += count * gain
        if sign < 0:
            for piece in found.looked_at:
                self._words_of[piece].discard(word)

    def _longest_matches(self, word: str, *, without: int | None = None) -> tuple[tuple[int, ...], bool]:
        """Return the longest matches in a word from left to right, and whether they cover the whole word."""
        found: list[int] = []
        pieces, prefix, start = self._pieces, "", 0
        while start < len(word):
            for stop in range(min(len(word), start + self._longest), start, -1):
                id = pieces.get(prefix + word[start:stop])
                if id is not None and id != without:
                    break
            else:
                return tuple(found), False
            found.append(id)
            start, prefix = stop, self._vocabulary.prefix
        return tuple(found), True
