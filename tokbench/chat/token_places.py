"""The places of tokens in rendered conversations: which ranges they overlap, and of which message they are."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, cast

import numpy as np

from tokbench.core.token_arrays import continuation_bytes, offsets_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tokbench.chat.rendered import Rendered, Turn
    from tokbench.core.tokens import EncodedSpans

NO_MESSAGE = -1
"""Message index of a token outside of messages."""


class TokenPlaces:
    """The tokens of several texts, with positions in the concatenation of all texts."""

    def __init__(self, rendered: Sequence[Rendered], spans: EncodedSpans) -> None:
        self._rendered = rendered
        self._continuations = continuation_bytes("".join([conversation.text for conversation in rendered]))
        self._bases = offsets_of([len(conversation.text) for conversation in rendered])[:-1].tolist()
        moved = np.repeat(self._bytes(self._bases), spans.encoded.counts)
        self._starts = spans.starts + moved
        self._stops = spans.stops + moved
        # A token without bytes, such as an inserted prefix space, belongs to the character after it.
        self._stops += self._stops == self._starts

    def _bytes(self, characters: Sequence[int]) -> NDArray[np.int64]:
        places = np.array(characters, np.int64)
        return places + np.searchsorted(self._continuations, places)

    def overlapping(self, ranges: Sequence[Sequence[tuple[int, int]]]) -> NDArray[np.bool_]:
        """Return for each token whether it overlaps one of the ranges of its text; the ranges must be in order."""
        flat = [
            (base + start, base + stop)
            for base, own in zip(self._bases, ranges, strict=True)
            for start, stop in own
            if start < stop
        ]
        if not flat:
            return np.zeros(len(self._starts), np.bool_)
        edges = self._bytes(list(chain.from_iterable(flat)))
        # Tokens are sorted, and there are far more tokens than ranges.
        firsts = np.searchsorted(self._stops, edges[::2], side="right")
        lasts = np.searchsorted(self._starts, edges[1::2], side="left")
        changes = np.zeros(len(self._starts) + 1, np.int32)
        np.add.at(changes, firsts, 1)
        np.subtract.at(changes, np.maximum(firsts, lasts), 1)
        overlaps: NDArray[np.bool_] = np.cumsum(changes[:-1]) > 0
        return overlaps

    def messages(self) -> NDArray[np.int32]:
        """Return the message of each token: that of the run it begins in, else that of the turn."""
        starts: list[int] = []
        owners: list[int] = []
        for base, conversation in zip(self._bases, self._rendered, strict=True):
            firsts, speakers = owners_of(conversation)
            starts += [base + first for first in firsts]
            owners += speakers
        if not starts:
            return np.full(len(self._starts), NO_MESSAGE, np.int32)
        edges = np.searchsorted(self._starts, self._bytes(starts), side="left")
        return np.repeat(np.array(owners, np.int32), np.diff(edges, append=len(self._starts)))


def owners_of(rendered: Rendered) -> tuple[Sequence[int], Sequence[int]]:
    """Return the positions where the message changes, and the message from there on: `NO_MESSAGE` for none."""
    messages = [message for message, _ in rendered.runs.origins]
    if None not in messages:
        return rendered.runs.starts, cast("list[int]", messages)
    firsts: list[int] = []
    owners: list[int] = []
    for start, stop, message in zip(rendered.runs.starts, rendered.runs.stops, messages, strict=True):
        found = _turns_between(rendered.turns, start, stop) if message is None else [(start, message)]
        for first, owner in found:
            firsts.append(first)
            owners.append(owner)
    return firsts, owners


def _turns_between(turns: Sequence[Turn], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the positions in a range where the turn changes, with the message from there on: `NO_MESSAGE` for none."""
    position = start
    for message, first, last in turns:
        if last <= position or first >= stop:
            continue
        if position < first:
            yield position, NO_MESSAGE
        yield max(position, first), message
        position = min(last, stop)
    if position < stop:
        yield position, NO_MESSAGE
