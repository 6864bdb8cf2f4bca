"""Where the tokens of a document of words are in a text, as its library tells it by offsets.

The kernel says it of texts that stay as they are, or that it normalizes itself by a table; what Python normalizes has
its places here, by the characters that each character of the normalized text is from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from tokbench.core.token_arrays import character_offsets, offsets_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokbench.core.kernel_or_library import Places
    from tokbench.native._bpe import CharacterChanges
    from tokbench.opening.text_normalization import TextNormalization


class PlacingEncoder(Protocol):
    """An encoder of the kernel that tells where tokens are.

    The one in Python takes no `changes`, of which there are none without the native kernel.
    """

    def added_places(self, text: bytes, *, specials: bool) -> list[tuple[int, int, int]]:
        """(start, stop, id) of the added tokens that are found before a text is normalized."""

    def place_batch(
        self,
        texts: list[str],
        threads: int,
        *,
        normalized: bool = False,
        changes: CharacterChanges | None = None,
    ) -> Places:
        """Ids, starts, stops and the number of tokens of each text; places in bytes, as whole characters."""


class WordPlaces:
    """Tells where the tokens of texts are in which nothing is a special token.

    Args:
        encoder: the kernel's for a document.
        normalization: what the document does to a text first, but for what added tokens are found before.
    """

    def __init__(self, encoder: PlacingEncoder, normalization: TextNormalization) -> None:
        self._encoder = encoder
        self._normalization = normalization

    def place_batch(self, texts: list[str], threads: int) -> Places:
        """The ids of some texts, where they start and stop in bytes of each text, and how many each text has.

        What a token covers are whole characters, which tokens may share.
        """
        if (changes := self._normalization.changes) is not None:
            return self._encoder.place_batch(texts, threads, changes=changes.of(texts, threads))
        leaves = list(map(self._normalization.leaves, texts))
        if all(leaves):
            return self._encoder.place_batch(texts, threads)
        return self._place_parts(texts, leaves, threads)

    def _place_parts(self, texts: Sequence[str], leaves: Sequence[bool], threads: int) -> Places:
        """The same of texts that are normalized here, unless they stay as they are."""
        parts = _Parts()
        for text, stays in zip(texts, leaves, strict=True):
            self._add(text, parts, stays=stays)
        ids, starts, stops, counts = self._encoder.place_batch(parts.normal, threads, normalized=True)
        starts, stops = parts.origins_of(starts, stops, counts)
        end = np.cumsum(counts)[parts.token_parts]
        counts = np.bincount(parts.text_numbers, counts, len(texts)).astype(np.int64)
        counts += np.bincount(np.array(parts.text_numbers, np.int64)[parts.token_parts], minlength=len(texts))
        return (
            np.insert(ids, end, np.array(parts.token_ids, np.uint32)),
            np.insert(starts, end, parts.token_starts),
            np.insert(stops, end, parts.token_stops),
            counts,
        )

    def _add(self, text: str, parts: _Parts, *, stays: bool) -> None:
        """Add a text part by part, between the added tokens that are found before it is normalized."""
        data = text.encode()
        end = 0
        parts.begin_text()
        for start, stop, id in self._encoder.added_places(data, specials=False):
            parts.add(data[end:start].decode(), self._normalization, first=end, stays=stays)
            parts.add_token(id, start, stop)
            end = stop
        parts.add(data[end:].decode(), self._normalization, first=end, stays=stays)


class _Parts:
    """Parts of texts, what they become, and the added tokens after some of them.

    Attributes:
        normal: what each part becomes.
        text_numbers: the number of the text of each part.
        token_parts: the number of the part that is before each added token.
        token_ids: their ids.
        token_starts: where they begin in their text.
        token_stops: where they end.
    """

    def __init__(self) -> None:
        self.normal: list[str] = []
        self.text_numbers: list[int] = []
        self.token_parts: list[int] = []
        self.token_ids: list[int] = []
        self.token_starts: list[int] = []
        self.token_stops: list[int] = []
        self._texts: list[str] = []
        self._origins: list[NDArray[np.int64]] = []
        self._firsts: list[int] = []
        self._number = -1

    def begin_text(self) -> None:
        """What is added from here on is of the next text."""
        self._number += 1

    def add(self, text: str, normalization: TextNormalization, *, first: int, stays: bool) -> None:
        """Add a part that begins at the byte `first` of its text, and `stays` as it is or does not."""
        origins = range(len(text)) if stays else normalization.origins(text)
        is_range = isinstance(origins, range)
        self._origins.append(np.arange(len(text)) if is_range else np.array(origins, np.int64))
        self._texts.append(text)
        self._firsts.append(first)
        self.normal.append(text if stays else normalization(text))
        self.text_numbers.append(self._number)

    def add_token(self, id: int, start: int, stop: int) -> None:
        """Add an added token, which stands after the last part."""
        self.token_parts.append(len(self.normal) - 1)
        self.token_ids.append(id)
        self.token_starts.append(start)
        self.token_stops.append(stop)

    def origins_of(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The places in the texts of what begins and ends at bytes of normalized parts, as many as `counts` in each."""
        bytes_of, normal_bytes_of = (
            character_offsets("".join(self._texts)),
            character_offsets("".join(self.normal)),
        )
        first_characters = offsets_of(list(map(len, self._texts)))[:-1]
        first_normal = offsets_of(list(map(len, self.normal)))[:-1]
        sizes = list(map(len, self._origins))
        origins = np.concatenate(self._origins) + np.repeat(first_characters, sizes)
        offset = np.repeat(normal_bytes_of[first_normal], counts)
        moved = np.repeat(np.array(self._firsts, np.int64) - bytes_of[first_characters], counts)
        starts = origins[np.searchsorted(normal_bytes_of, starts + offset, side="right") - 1]
        stops = origins[np.searchsorted(normal_bytes_of, stops + offset) - 1]
        return bytes_of[starts] + moved, bytes_of[stops + 1] + moved
