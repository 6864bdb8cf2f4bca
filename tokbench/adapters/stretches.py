"""Texts encoded stretch by stretch, each different one once: for libraries that take their time over each text.

A stretch is what stands between two places that no token ever crosses, whatever the text: `cutting.py` says
which tokenizers have such places. Stretches repeat as words do, so that after a
few megabytes next to nothing is left for the library; the rest is looking up and copying arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from tokbench.base import utf8
from tokbench.interfaces import Encoded, EncodedSpans
from tokbench.spans import offsets_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

_MOST_TOKENS = 1 << 21
"""Tokens that are remembered: about 40 MB with their places, and as much again for the stretches themselves."""


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """The tokens of the stretches that are known, one behind the other.

    Attributes:
        tokens: ids, places inside the stretch, kinds; a text of it is a stretch.
        sizes: int64[S], the UTF-8 bytes of each stretch.
    """

    tokens: EncodedSpans
    sizes: NDArray[np.int64]

    @classmethod
    def empty(cls) -> _Table:
        none = np.zeros(0, np.int64)
        encoded = Encoded(ids=np.zeros(0, np.uint32), offsets=np.zeros(1, np.int64))
        return cls(EncodedSpans(encoded, none, none, np.zeros(0, np.uint8)), none)

    def and_also(self, other: EncodedSpans, sizes: NDArray[np.int64]) -> _Table:
        """The stretches of this table, and others behind them."""
        mine = self.tokens
        offsets = np.concatenate([mine.encoded.offsets, other.encoded.offsets[1:] + mine.encoded.offsets[-1]])
        return _Table(
            EncodedSpans(
                encoded=Encoded(np.concatenate([mine.encoded.ids, other.encoded.ids]), offsets),
                starts=np.concatenate([mine.starts, other.starts]),
                stops=np.concatenate([mine.stops, other.stops]),
                kinds=np.concatenate([mine.kinds, other.kinds]),
            ),
            np.concatenate([self.sizes, sizes]),
        )

    def texts(self, rows: NDArray[np.int64], stretches: NDArray[np.int64]) -> EncodedSpans:
        """The tokens of texts that are made of known stretches.

        Args:
            rows: int64[R], the stretches of all texts.
            stretches: int64[texts + 1], which of them are whose.
        """
        known = self.tokens
        firsts = known.encoded.offsets[rows]
        counts = known.encoded.offsets[rows + 1] - firsts
        edges = offsets_of(counts)
        places = np.repeat(firsts - edges[:-1], counts) + np.arange(edges[-1])
        begins = offsets_of(self.sizes[rows])
        inside = begins[:-1] - np.repeat(begins[stretches[:-1]], np.diff(stretches))
        moved = np.repeat(inside, counts)
        return EncodedSpans(
            encoded=Encoded(known.encoded.ids[places], edges[stretches]),
            starts=known.starts[places] + moved,
            stops=known.stops[places] + moved,
            kinds=known.kinds[places],
        )


def without_places(encoded: Encoded) -> EncodedSpans:
    """Ids whose places nobody will ask for."""
    none = np.zeros(len(encoded.ids), np.int64)
    return EncodedSpans(encoded, none, none, np.zeros(len(encoded.ids), np.uint8))


class StretchMemo:
    """Encodes texts by what is remembered of their stretches; may be used by several threads at once.

    Args:
        cut: gives the stretches of a text, which together are the text.
        encode: encodes different stretches, each as a text of its own, on `threads` threads.
        most_tokens: how many are remembered; when there are more, all are forgotten.

    Usage:

        memo = StretchMemo(cut=re.compile("[ ]*[^ ]+|[ ]+").findall, encode=library_spans)
        memo.encode_spans(["a text", "another text"])
    """

    def __init__(
        self,
        *,
        cut: Callable[[str], list[str]],
        encode: Callable[..., EncodedSpans],
        most_tokens: int = _MOST_TOKENS,
    ) -> None:
        self._cut = cut
        self._encode = encode
        self._most_tokens = most_tokens
        self._lock = Lock()
        self._rows: dict[str, int] = {}
        self._table = _Table.empty()

    def encode_batch(self, texts: Sequence[str], *, threads: int | None = None) -> Encoded:
        """The ids of texts. Raises as `encode_spans`."""
        return self.encode_spans(texts, threads=threads).encoded

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """The tokens of texts with their places. Raises `TextError` for surrogates, and what the library raises."""
        for text in texts:
            utf8(text)
        cut = [self._cut(text) for text in texts]
        with self._lock:
            self._learn(dict.fromkeys(chain.from_iterable(cut)), threads=threads)
            rows = np.fromiter(map(self._rows.__getitem__, chain.from_iterable(cut)), np.int64)
            table = self._table
            if len(table.tokens.encoded.ids) > self._most_tokens:
                self._rows, self._table = {}, _Table.empty()
        return table.texts(rows, offsets_of([len(stretches) for stretches in cut]))

    def _learn(self, stretches: dict[str, None], *, threads: int | None) -> None:
        new = [stretch for stretch in stretches if stretch not in self._rows]
        if not new:
            return
        sizes = np.fromiter((len(stretch.encode()) for stretch in new), np.int64, len(new))
        self._table = self._table.and_also(self._encode(new, threads=threads), sizes)
        self._rows.update(zip(new, range(len(self._rows), len(self._rows) + len(new)), strict=True))
