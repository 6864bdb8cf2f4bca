"""Learning merges behind those of a vocabulary, from words that are cut into its tokens already."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tokbench.backends.bpe.fallback.training import Trainer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.backends.bpe.reference import Pair


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
    """Learn merges behind those of a vocabulary, from words cut into its tokens: as `train`."""
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
    """A trainer that knows the bytes of all tokens, and passes over pairs that must not become one."""

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
        self._tokens.append(joined)  # an allowed pair is merged at once
        self._known.add(joined)
        return True


def _words(
    ids: list[int], offsets: list[int], counts: list[int], tokens: Sequence[bytes]
) -> list[tuple[list[int], int]]:
    """Words with their counts, checked as the compiled kernel checks them."""
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
