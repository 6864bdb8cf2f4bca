"""Training in Python: the count and the positions of each pair, and a heap of the most frequent pairs."""

from __future__ import annotations

import heapq
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tokbench.backends.bpe import reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from tokbench.backends.bpe.fallback.counting import PretokenCounter, WordList
    from tokbench.backends.bpe.reference import Pair

_REPORT_EVERY = 64


def train(
    counter: PretokenCounter | WordList,
    *,
    num_merges: int,
    min_frequency: int,
    max_token_length: int,
    seed: int,
    progress: Callable[[int], None] | None,
    threads: int = 1,
) -> tuple[NDArray[np.uint32], NDArray[np.int64], int]:
    """Learn merges from counted pre-tokens: (uint32[n, 2] pairs, int64[n] counts, number of tokens of the text)."""
    del seed, threads
    if min_frequency < 1:
        raise ValueError("min_frequency must be at least 1")
    trainer = Trainer(
        counter.items(),
        token_lengths=[1] * reference.NUM_BYTES,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
    )
    return trainer.run(num_merges, progress=progress)


class Trainer:
    """A trainer on a linked list of symbols, with the count and the positions of each pair.

    The count of a pair can only fall after the merge that created its younger symbol. So a heap whose
    counts may be too high, and which pushes such an entry again with its current count when it comes to
    the top, gives the order that the reference defines.
    """

    def __init__(
        self,
        words: Iterable[tuple[Sequence[int], int]],
        *,
        token_lengths: list[int],
        min_frequency: int,
        max_token_length: int,
    ) -> None:
        self._min_frequency = min_frequency
        self._max_token_length = max_token_length
        self._symbols: list[int] = []
        self._weights: list[int] = []
        self._previous: list[int] = []
        self._next: list[int] = []
        self._lengths = token_lengths
        self._counts: dict[Pair, int] = {}
        self._places: dict[Pair, list[int]] = {}
        self._heap: list[tuple[int, Pair]] = []
        self.merges: list[reference.Merge] = []
        self.num_tokens = 0
        for word, count in words:
            if word:
                self._lay_out(word, count)
        self._add_pairs(range(len(self._symbols)))

    def run(
        self, num_merges: int, *, progress: Callable[[int], None] | None
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], int]:
        """Learn merges: (uint32[n, 2] pairs, int64[n] counts, number of tokens of the text)."""
        while len(self.merges) < num_merges and self.step():
            if progress is not None and len(self.merges) % _REPORT_EVERY == 0:
                progress(len(self.merges))
        pairs = np.array([merge[:2] for merge in self.merges], dtype=np.uint32).reshape(-1, 2)
        counts = np.array([merge.count for merge in self.merges], dtype=np.int64)
        return pairs, counts, self.num_tokens

    def allows(self, pair: Pair) -> bool:
        """Return whether the most frequent pair may be merged; if not, it is never tried again."""
        del pair
        return True

    def step(self) -> bool:
        """Learn the next merge; False when no pair is left."""
        while self._heap:
            negative_count, pair = heapq.heappop(self._heap)
            count = self._counts[pair]
            if count == -negative_count:
                if not self.allows(pair):
                    continue
                self._merge(pair, count)
                return True
            if count >= self._min_frequency:
                heapq.heappush(self._heap, (-count, pair))
        return False

    def _lay_out(self, word: Sequence[int], count: int) -> None:
        start, size = len(self._symbols), len(word)
        self.num_tokens += size * count
        self._symbols.extend(word)
        self._weights.extend([count] * size)
        self._previous.extend(range(start - 1, start + size - 1))
        self._next.extend(range(start + 1, start + size + 1))
        self._previous[start] = self._next[-1] = -1

    def _add_pairs(self, left_places: Iterable[int]) -> None:
        counts: defaultdict[Pair, int] = defaultdict(int)
        places: defaultdict[Pair, list[int]] = defaultdict(list)
        for place in left_places:
            if (right := self._next[place]) >= 0:
                pair = (self._symbols[place], self._symbols[right])
                counts[pair] += self._weights[place]
                places[pair].append(place)
        for pair, count in counts.items():
            length = self._lengths[pair[0]] + self._lengths[pair[1]]
            if count >= self._min_frequency and not 0 < self._max_token_length < length:
                self._counts[pair], self._places[pair] = count, places[pair]
                heapq.heappush(self._heap, (-count, pair))

    def _merge(self, pair: Pair, count: int) -> None:
        new_id = len(self._lengths)
        self.merges.append(reference.Merge(*pair, count))
        self._lengths.append(self._lengths[pair[0]] + self._lengths[pair[1]])
        merged = [place for place in self._places.pop(pair) if self._replace(place, pair, new_id)]
        self._counts[pair] = 0
        # A pair between two merged places would be added for both of them: dict.fromkeys removes the duplicate.
        lefts = dict.fromkeys(p for place in merged for p in (self._previous[place], place) if p >= 0)
        self._add_pairs(lefts)

    def _replace(self, place: int, pair: Pair, new_id: int) -> bool:
        """Merge the pair at a place, if it is still there, and lower the counts of the pairs around it."""
        symbols, right = self._symbols, self._next[place]
        if symbols[place] != pair[0] or right < 0 or symbols[right] != pair[1]:
            return False
        before, after = self._previous[place], self._next[right]
        if before >= 0 and symbols[before] != new_id:
            self._lower((symbols[before], pair[0]), self._weights[place])
        if after >= 0:
            self._lower((pair[1], symbols[after]), self._weights[place])
            self._previous[after] = place
        symbols[place], symbols[right] = new_id, -1
        self._next[place] = after
        self.num_tokens -= self._weights[place]
        return True

    def _lower(self, pair: Pair, weight: int) -> None:
        if pair in self._counts:
            self._counts[pair] -= weight


def continue_training(
    ids: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    tokens: list[bytes],
    *,
    num_merges: int,
    min_frequency: int,
    max_token_length: int,
    max_words: int,
    excluded: bytes,
    seed: int,
    progress: Callable[[int], None] | None,
) -> tuple[NDArray[np.uint32], NDArray[np.int64], int]:
    """Learn merges after those of a vocabulary, from words as its tokens; the result is as that of `train`."""
    del seed
    if min_frequency < 1:
        raise ValueError("min_frequency must be at least 1")
    trainer = _Continuation(
        _words(ids.tolist(), offsets.tolist(), counts.tolist(), tokens),
        tokens=tokens,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        max_words=max_words,
        excluded=excluded,
    )
    return trainer.run(num_merges, progress=progress)


class _Continuation(Trainer):
    """A trainer that knows the bytes of all tokens and skips pairs whose bytes must not become a token."""

    def __init__(
        self,
        words: list[tuple[list[int], int]],
        *,
        tokens: list[bytes],
        min_frequency: int,
        max_token_length: int,
        max_words: int,
        excluded: bytes,
    ) -> None:
        super().__init__(
            words,
            token_lengths=[len(token) for token in tokens],
            min_frequency=min_frequency,
            max_token_length=max_token_length,
        )
        self._tokens = list(tokens)
        self._known = set(tokens)
        self._max_words = max_words
        self._excluded = excluded

    def allows(self, pair: Pair) -> bool:
        joined = self._tokens[pair[0]] + self._tokens[pair[1]]
        if 0 < self._max_words < sum(1 for word in joined.split(b" ") if word):
            return False
        if self._excluded and self._excluded in joined:
            return False
        if joined in self._known:
            return False
        self._tokens.append(joined)  # `step` merges an allowed pair immediately
        self._known.add(joined)
        return True


def _words(
    ids: list[int], offsets: list[int], counts: list[int], tokens: Sequence[bytes]
) -> list[tuple[list[int], int]]:
    """Return words with their counts, after the checks that the compiled kernel does."""
    if len(offsets) != len(counts) + 1:
        raise ValueError("there must be one offset more than counts")
    if offsets[0] < 0:
        raise ValueError("an offset is negative")
    for number, ((start, stop), count) in enumerate(zip(pairwise(offsets), counts, strict=True)):
        if not start <= stop <= len(ids):
            raise ValueError(f"word {number} ends where no word can")
        if count < 1:
            raise ValueError(f"word {number} has a count below 1")
    for id in ids:
        if id >= len(tokens) or not tokens[id]:
            raise ValueError(f"id {id} has no token")
    return [(ids[start:stop], count) for (start, stop), count in zip(pairwise(offsets), counts, strict=True)]
