"""Choose the pieces to remove from a WordPiece by the tokens that a text gains: a fast `reference.prune_matches`.

The loss of a piece is a sum over the words that it is a token of. Of each word it is known how many tokens it would
have without each of its own, and which pieces that is made of; when one of these goes, the word is matched again. So
is an unknown word when a piece goes that it begins with: a longer match may have led astray.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from tokbench.surgery.leaves import Removal, check_size, removal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from tokbench.surgery.matched_pieces import MatchedPieces

NO_WORDS: Mapping[str, int] = MappingProxyType({})


class _Word(NamedTuple):
    """A word as it is matched now.

    Attributes:
        tokens: its pieces, by id; none of an unknown word.
        gains: each of these → the tokens that the word gains without it; None where it would become unknown.
        looked_at: the pieces that any of this is made of, those before a part without a piece included.
    """

    tokens: tuple[int, ...]
    gains: Mapping[int, int | None]
    looked_at: frozenset[int]


def choose_matches(
    vocabulary: MatchedPieces,
    *,
    words: Mapping[str, int] = NO_WORDS,
    selected: Collection[int] = (),
    size: int | None = None,
    min_count: int | None = None,
) -> Removal:
    """The tokens to remove: those selected, then rare ones, then those of least loss until `size` are left.

    Args:
        vocabulary: what there is.
        words: text → count.
        selected: ids to remove wherever no word becomes unknown.
        size: how many tokens stay, special tokens included; None for no limit.
        min_count: pieces with fewer occurrences go; None for no limit.

    Raises:
        ConfigError: the tokens that always stay are more than `size`.
    """
    check_size(size, kept=vocabulary.kept, what="single characters and special tokens")
    left = _Left(vocabulary, words)
    named = set(selected)
    left.remove(lambda piece: piece in named)
    if min_count is not None:
        left.remove(lambda piece: left.frequencies[piece] < min_count)
    if size is not None:
        left.remove(lambda _: True, most=size)
    return removal_of(
        left.removed,
        left.ids,
        frequency=left.frequencies.__getitem__,
        selected=named,
        kept=vocabulary.kept,
    )


class _Left:
    """What is left of a vocabulary while pieces go."""

    def __init__(self, vocabulary: MatchedPieces, words: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._pieces = {piece: id for id, piece in vocabulary.texts.items()}
        self._longest = max(map(len, self._pieces), default=0)
        self._fixed = vocabulary.kept | vocabulary.needed
        self._counts = dict(words)
        self._words: dict[str, _Word] = {}
        self._words_of: defaultdict[int, set[str]] = defaultdict(set)
        self._losses: Counter[int] = Counter()
        self._needing: Counter[int] = Counter()
        self._changed: set[int] = set()
        self.frequencies: Counter[int] = Counter()
        self.ids = set(vocabulary.ids)
        self.removed: list[int] = []
        for word in words:
            self._add(word)

    def remove(self, may_go: Callable[[int], bool], *, most: int = 0) -> None:
        """Remove pieces of which something holds, the least loss first, while more than `most` tokens are left."""
        waiting = [(self._losses[id], -id) for id in self.ids if self._can_go(id)]
        heapq.heapify(waiting)
        while waiting and len(self.ids) > most:
            loss, negative = heapq.heappop(waiting)
            if -negative not in self.ids or loss != self._losses[-negative]:
                continue  # there is a younger item of it
            if not self._can_go(-negative) or not may_go(-negative):
                continue
            self._changed.clear()
            self._remove(-negative)
            for id in self._changed & self.ids:
                if self._can_go(id):
                    heapq.heappush(waiting, (self._losses[id], -id))

    def _can_go(self, id: int) -> bool:
        return id not in self._fixed and not self._needing[id]

    def _remove(self, id: int) -> None:
        del self._pieces[self._vocabulary.texts[id]]
        self.ids.remove(id)
        self.removed.append(id)
        for word in sorted(self._words_of.pop(id, ())):
            self._take(word, sign=-1)
            self._add(word)

    def _add(self, word: str) -> None:
        """Match a word."""
        found, is_known = self._matched(word)
        tokens = found if is_known else ()
        others = {token: self._matched(word, without=token) for token in set(tokens)}
        gains = {
            token: len(other) - len(tokens) if still_known else None
            for token, (other, still_known) in others.items()
        }
        looked_at = frozenset(found).union(*(other for other, _ in others.values()))
        self._words[word] = _Word(tokens, gains, looked_at)
        for piece in looked_at:
            self._words_of[piece].add(word)
        self._take(word, sign=1)

    def _take(self, word: str, *, sign: int) -> None:
        """Count a word, or take its counts back."""
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

    def _matched(self, word: str, *, without: int | None = None) -> tuple[tuple[int, ...], bool]:
        """The longest matches in a word from its left, and whether that is all of it."""
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
