"""BPE dropout: merges are dropped at random, so that a model sees words in more than one segmentation.

At each step every possible merge of a pre-token is dropped with probability p. Of the remaining
merges the one with the lowest rank is applied, and of equal ranks the leftmost; if none remains,
the pre-token is done. So p = 0 is ordinary encoding, and p = 1 gives bytes.

The order of random numbers is part of the result: they come from `random.Random(seed)`, pre-token
after pre-token. At each step one number is drawn for each possible merge, in the order of preference,
up to the first merge that is not dropped (number >= p). No number is drawn for the merges after it,
as it could not change the step.

Source: Provilkov, Emelianenko and Voita 2020, "BPE-Dropout: Simple and Effective Subword Regularization".
"""

from __future__ import annotations

import random
from functools import cached_property
from typing import TYPE_CHECKING

from tokbench.core.merging import merge_symbols
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tokbench.core.descriptions import ByteLevelBpe

DEFAULT_DROPOUT = 0.1


class DropoutEncoder:
    """An encoder of pre-tokens with dropout, built from the description of a byte-level BPE."""

    def __init__(self, description: ByteLevelBpe) -> None:
        self._description = description
        ids: dict[bytes, int] = {}
        for id, token in enumerate(description.tokens):
            if token:
                ids.setdefault(token, id)
        self._ids = ids

    def encode(self, pretokens: Iterable[bytes], *, dropout: float, seed: int) -> list[int]:
        """Return the ids of pre-tokens; equal arguments give equal ids.

        Raises:
            ConfigError: `dropout` is not a probability.
        """
        if not 0 <= dropout <= 1:
            raise ConfigError(f"a dropout of {dropout} is not a probability", hint="it must be from 0 to 1")
        source = random.Random(seed)  # noqa: S311 -- a reproducible choice, not a secret
        return [id for pretoken in pretokens for id in self._encode(pretoken, dropout=dropout, source=source)]

    def _encode(self, pretoken: bytes, *, dropout: float, source: random.Random) -> list[int]:
        whole = self._ids.get(pretoken) if self._description.whole_tokens_first else None
        if whole is not None and len(pretoken) > 1 and source.random() >= dropout:
            return [whole]
        symbols = [self._ids[bytes([byte])] for byte in pretoken]
        return merge_symbols(symbols, self._merge_of, is_dropped=lambda: source.random() < dropout)

    @cached_property
    def _merge_of(self) -> Callable[[tuple[int, int]], tuple[int, int] | None]:
        """A function from a pair to the rank of its merge and the id that the merge creates, or None."""
        if self._description.merges is None:
            return self._merge_of_ranks
        merges: dict[tuple[int, int], tuple[int, int]] = {}
        for rank, (left, right, id) in enumerate(self._description.merges):
            merges.setdefault((left, right), (rank, id))
        return merges.get

    def _merge_of_ranks(self, pair: tuple[int, int]) -> tuple[int, int] | None:
        left, right = (self._description.tokens[id] or b"" for id in pair)
        id = self._ids.get(left + right)
        return None if id is None else (id, id)
