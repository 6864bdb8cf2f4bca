"""BPE dropout: merges that are left out at random, so that a model sees words in more than one form.

At each step every merge that is possible in a pre-token is dropped with a probability p; of
those that are left the one of the smallest rank is made, of equal ones the leftmost; when
none is left the pre-token is done. So p = 0 is what encoding does, and p = 1 gives bytes.

The order of random numbers is part of the result: they come from `random.Random(seed)`, pre-token
after pre-token; at each step one number is drawn for each possible merge in the order in which they
would be made, up to the first that is not dropped (number >= p). What would be drawn for the
merges behind it changes nothing.

Source: Provilkov, Emelianenko and Voita 2020, "BPE-Dropout: Simple and Effective Subword Regularization".
"""

from __future__ import annotations

import heapq
import random
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tokbench.core.descriptions import ByteLevelBpe

Made = tuple[int, int]
"""What a pair becomes: the merge's rank, and the id that it makes."""

DEFAULT_DROPOUT = 0.1


def merge_with_dropout(
    symbols: list[int],
    *,
    made_of: Callable[[int, int], Made | None],
    dropout: float,
    source: random.Random,
) -> list[int]:
    """The ids of one pre-token, from the ids of its bytes.

    Args:
        symbols: the ids of its bytes.
        made_of: what two neighbours merge into, or None.
        dropout: the probability with which a possible merge is left out at a step.
        source: where random numbers come from.

    >>> ranks = {(97, 98): (0, 256), (256, 99): (1, 257)}
    >>> merge_with_dropout(list(b"abc"), made_of=lambda *pair: ranks.get(pair), dropout=0.0,
    ...                    source=random.Random(1))
    [257]
    """
    symbols = list(symbols)
    previous, following = list(range(-1, len(symbols) - 1)), [*range(1, len(symbols)), -1]
    possible = [
        (made, place, left, right)
        for place, (left, right) in enumerate(pairwise(symbols))
        if (made := made_of(left, right)) is not None
    ]
    heapq.heapify(possible)
    dropped = []
    while possible:
        made, place, left, right = candidate = heapq.heappop(possible)
        behind = following[place]
        if symbols[place] != left or behind < 0 or symbols[behind] != right:
            continue  # one of the two has become part of another token
        if source.random() < dropout:
            dropped.append(candidate)
            continue
        symbols[place], symbols[behind] = made[1], -1
        following[place] = after = following[behind]
        if after >= 0:
            previous[after] = place
        for start in (previous[place], place):
            if start >= 0 and following[start] >= 0:
                pair = symbols[start], symbols[following[start]]
                if (next_made := made_of(*pair)) is not None:
                    heapq.heappush(possible, (next_made, start, *pair))
        for candidate in dropped:  # a new step: each may happen again
            heapq.heappush(possible, candidate)
        dropped.clear()
    return [symbol for symbol in symbols if symbol >= 0]


class DropoutEncoder:
    """Encodes pre-tokens with dropout, from the description of a byte-level BPE."""

    def __init__(self, description: ByteLevelBpe) -> None:
        self._description = description
        ids: dict[bytes, int] = {}
        for id, token in enumerate(description.tokens):
            if token:
                ids.setdefault(token, id)
        self._ids = ids

    def encode(self, pretokens: Iterable[bytes], *, dropout: float, seed: int) -> list[int]:
        """The ids of pre-tokens, one after another; the same for the same arguments.

        Raises:
            ConfigError: `dropout` is no probability.
        """
        if not 0 <= dropout <= 1:
            raise ConfigError(f"a dropout of {dropout} is no probability", hint="it is from 0 to 1")
        source = random.Random(seed)  # noqa: S311 -- a reproducible choice, not a secret
        return [id for pretoken in pretokens for id in self._encode(pretoken, dropout=dropout, source=source)]

    def _encode(self, pretoken: bytes, *, dropout: float, source: random.Random) -> list[int]:
        whole = self._ids.get(pretoken) if self._description.whole_tokens_first else None
        if whole is not None and len(pretoken) > 1 and source.random() >= dropout:
            return [whole]
        symbols = [self._ids[pretoken[place : place + 1]] for place in range(len(pretoken))]
        return merge_with_dropout(symbols, made_of=self._made_of, dropout=dropout, source=source)

    def _made_of(self, left: int, right: int) -> Made | None:
        if self._description.merges is not None:
            return self._made_of_pairs.get((left, right))
        tokens = self._description.tokens
        made = self._ids.get((tokens[left] or b"") + (tokens[right] or b""))
        return None if made is None else (made, made)

    @cached_property
    def _made_of_pairs(self) -> Mapping[tuple[int, int], Made]:
        made: dict[tuple[int, int], Made] = {}
        for rank, (left, right, id) in enumerate(self._description.merges or ()):
            made.setdefault((left, right), (rank, id))
        return made
