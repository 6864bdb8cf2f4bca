"""Compute the spans of tokens in documents whose model encodes words, as their library reports them.

The kernel computes them for unchanged texts, and for texts that it normalizes itself by a table; for texts normalized
in Python, this module maps them back by the origins of the normalized characters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from tokbench.opening.character_origins import original_spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokbench.core.kernel_spans import Places
    from tokbench.native._bpe import CharacterChanges
    from tokbench.opening.text_normalization import TextNormalization


class PlacingEncoder(Protocol):
    """A kernel encoder that returns the spans of tokens.

    The encoder in Python has no parameter `changes`, as these exist only with the native kernel.
    """

    def added_places(self, text: bytes, *, specials: bool) -> list[tuple[int, int, int]]:
        """Return (start, stop, id) of the added tokens found in a raw text, before normalization."""

    def place_batch(
        self,
        texts: list[str],
        threads: int,
        *,
        normalized: bool = False,
        changes: CharacterChanges | None = None,
    ) -> Places:
        """Return ids, starts, stops and the number of tokens of each text; spans are bytes of whole characters."""


class WordPlaces:
    """The spans of tokens in texts in which special tokens are not searched.

    Args:
        encoder: the kernel's encoder for the document.
        normalization: the normalization of a text, which follows the search for added tokens in the raw text.
    """

    def __init__(self, encoder: PlacingEncoder, normalization: TextNormalization) -> None:
        self._encoder = encoder
        self._normalization = normalization

    def are_from_kernel(self, text: str) -> bool:
        """Whether the kernel does all of the normalization of a text, if it needs any."""
        normalization = self._normalization
        if normalization.changes is not None or normalization.leaves(text):
            return True
        return normalization.changes_after_nfc is not None and normalization.is_composed(text)

    def know_origins_of(self, text: str) -> bool:
        """Whether the origins of the normalized characters of a text can be computed."""
        return self._normalization.knows_origins_of(text)

    def from_kernel(self, texts: list[str], threads: int) -> Places:
        """Return the ids of texts, their starts and stops in bytes of each text, and the number of tokens of each text.

        A token's span consists of whole characters, which tokens may share.

        Args:
            texts: texts for which `are_from_kernel` is true.
            threads: the number of threads.
        """
        changes = self._normalization.changes or self._normalization.changes_after_nfc
        if changes is None:
            return self._encoder.place_batch(texts, threads)
        return self._encoder.place_batch(texts, threads, changes=changes.of(texts, threads))

    def from_normalized(self, texts: list[str], threads: int) -> Places:
        """Return the same for texts for which `know_origins_of` is true, which are normalized here."""
        parts = _Parts()
        for text in texts:
            self._add(text, parts)
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

    def _add(self, text: str, parts: _Parts) -> None:
        """Add the parts of a text between the added tokens that are found before normalization."""
        data = text.encode()
        end = 0
        parts.begin_text()
        for start, stop, id in self._encoder.added_places(data, specials=False):
            parts.add(data[end:start].decode(), self._normalization, first=end)
            parts.add_token(id, start, stop)
            end = stop
        parts.add(data[end:].decode(), self._normalization, first=end)


class _Parts:
    """Parts of texts, their normalized forms, and the added tokens after some of them.

    Attributes:
        normal: the normalized form of each part.
        text_numbers: the index of each part's text.
        token_parts: the index of the part before each added token.
        token_ids: the ids of these tokens.
        token_starts: their starts in their texts.
        token_stops: their stops.
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
        """Start the next text, which the parts added from here on belong to."""
        self._number += 1

    def add(self, text: str, normalization: TextNormalization, *, first: int) -> None:
        """Add a part that begins at the byte `first` of its text."""
        normal, origins = normalization.with_origins(text)
        self._origins.append(origins)
        self._texts.append(text)
        self._firsts.append(first)
        self.normal.append(normal)
        self.text_numbers.append(self._number)

    def add_token(self, id: int, start: int, stop: int) -> None:
        """Add an added token after the last part."""
        self.token_parts.append(len(self.normal) - 1)
        self.token_ids.append(id)
        self.token_starts.append(start)
        self.token_stops.append(stop)

    def origins_of(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Map starts and stops in normalized parts, `counts` of them in each, to places in the texts."""
        starts, stops = original_spans(
            self._texts, self.normal, self._origins, starts=starts, stops=stops, counts=counts
        )
        moved = np.repeat(np.array(self._firsts, np.int64), counts)
        return starts + moved, stops + moved
