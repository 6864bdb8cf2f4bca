"""Choose the pieces to remove from a Unigram by the lost likelihood of a text: `reference.prune_pieces` with a heap.

The loss of a piece only rises while others go: its frequency by those that it takes the place of, and the score of its
best other segmentation falls with the pieces there are. So a piece whose loss was worked out before waits at what it
was, and is put back once it comes up and has risen.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

from tokbench.surgery.leaves import NO_FREQUENCIES, Removal, check_size, removal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from tokbench.surgery.scored_pieces import ScoredPieces


class Spelling(NamedTuple):
    """The best segmentation of a piece into others: the sum of its scores, and its pieces."""

    score: float
    pieces: tuple[str, ...]


def best_spelling(text: str, scores: Mapping[str, float], *, longest: int) -> Spelling | None:
    """The segmentation of a text into pieces other than itself; of equal ones that whose last pieces are longer.

    Args:
        text: of a piece.
        scores: piece → score.
        longest: the characters of the longest piece.

    >>> best_spelling("abc", {"a": -1.0, "bc": -3.0, "ab": -3.0, "c": -1.0, "abc": 0.0}, longest=3)
    Spelling(score=-4.0, pieces=('a', 'bc'))
    >>> best_spelling("abd", {"a": -1.0, "b": -1.0, "abd": 0.0}, longest=3) is None
    True
    """
    size = len(text)
    sums: list[float | None] = [0.0, *[None] * size]
    starts = [0] * (size + 1)
    for start in range(size):
        if (before := sums[start]) is None:
            continue
        for stop in range(start + 1, min(start + longest, size) + 1):
            score = scores.get(text[start:stop])
            if score is None or stop - start == size:
                continue
            known = sums[stop]
            if known is None or before + score > known:
                sums[stop], starts[stop] = before + score, start
    total = sums[size]
    if total is None:
        return None
    pieces, stop = [], size
    while stop:
        pieces.append(text[starts[stop] : stop])
        stop = starts[stop]
    return Spelling(total, tuple(reversed(pieces)))


def choose_pieces(
    vocabulary: ScoredPieces,
    *,
    frequencies: Mapping[int, int] = NO_FREQUENCIES,
    selected: Collection[int] = (),
    size: int | None = None,
    min_count: int | None = None,
) -> Removal:
    """The tokens to remove: those selected, then rare ones, then those of least loss until `size` are left.

    Args:
        vocabulary: what there is.
        frequencies: id → token occurrences; one that is missing has none.
        selected: ids to remove wherever others spell them.
        size: how many tokens stay, special tokens included; None for no limit.
        min_count: pieces with fewer occurrences go; None for no limit.

    Raises:
        ConfigError: the tokens that always stay are more than `size`.
    """
    check_size(size, kept=vocabulary.kept, what="single characters and special tokens")
    left = _Left(vocabulary, frequencies)
    left.remove(set(selected))
    if min_count is not None:
        left.remove(
            {id for id in left.ids if left.frequency(id) < min_count},
            may_go=lambda piece: left.frequency(piece) < min_count,
        )
    if size is not None:
        left.remove(set(left.ids), most=size)
    return removal_of(
        left.removed, left.ids, frequency=left.frequency, selected=selected, kept=vocabulary.kept
    )


class _Left:
    """What is left of a vocabulary while pieces go."""

    def __init__(self, vocabulary: ScoredPieces, frequencies: Mapping[int, int]) -> None:
        self._vocabulary = vocabulary
        self._frequencies = dict(frequencies)
        self._scores = {vocabulary.texts[id]: score for id, score in vocabulary.scores.items()}
        self._ids = {text: id for id, text in vocabulary.texts.items()}
        self._longest = max(map(len, self._scores), default=0)
        self._spellings: dict[int, Spelling | None] = {}
        self.ids = set(vocabulary.ids)
        self.removed: list[int] = []

    def frequency(self, id: int) -> int:
        """Token occurrences, with those of removed pieces whose place it takes."""
        return self._frequencies.get(id, 0)

    def remove(
        self,
        candidates: set[int],
        *,
        may_go: Callable[[int], bool] = lambda _: True,
        most: int = 0,
    ) -> None:
        """Remove candidates, the least loss first, while more than `most` tokens are left."""
        waiting = [(0.0, -id) for id in (candidates & self.ids) - self._vocabulary.kept]
        heapq.heapify(waiting)
        while waiting and len(self.ids) > most:
            known, negative = waiting[0]
            id = -negative
            loss = self._loss(id) if may_go(id) else None
            if loss is None:
                heapq.heappop(waiting)
            elif loss > known:
                heapq.heapreplace(waiting, (loss, negative))
            else:
                heapq.heappop(waiting)
                self._remove(id)

    def _loss(self, id: int) -> float | None:
        """What the text's log likelihood falls by; None for a piece that no others spell."""
        frequency = self.frequency(id)
        if not frequency and all(character in self._scores for character in self._vocabulary.texts[id]):
            return 0.0  # most pieces of a large vocabulary: how else they are spelled does not matter
        found = self._spelling(id)
        return None if found is None else frequency * max(0.0, self._vocabulary.scores[id] - found.score)

    def _spelling(self, id: int) -> Spelling | None:
        known = self._spellings.get(id)
        if known is None or not all(piece in self._scores for piece in known.pieces):
            known = best_spelling(self._vocabulary.texts[id], self._scores, longest=self._longest)
            self._spellings[id] = known
        return known

    def _remove(self, id: int) -> None:
        frequency = self._frequencies.pop(id, 0)
        if frequency and (found := self._spelling(id)) is not None:
            for piece in found.pieces:
                part = self._ids[piece]
                self._frequencies[part] = self.frequency(part) + frequency
        self._spellings.pop(id, None)
        del self._scores[self._vocabulary.texts[id]]
        self.ids.remove(id)
        self.removed.append(id)
