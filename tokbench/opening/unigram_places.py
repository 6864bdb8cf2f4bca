"""Compute the spans of tokens of a Unigram `tokenizer.json`, as its library reports them.

The kernel computes them for the words of unchanged texts. A trailing space that becomes a token is added here, and
texts that were normalized in Python are mapped back by the origins of the normalized characters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokbench.opening.character_origins import original_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokbench.core.kernel_spans import Places
    from tokbench.native._unigram import DocumentEncoder
    from tokbench.opening.text_normalization import TextNormalization


class UnigramPlaces:
    """The spans of tokens in texts that the kernel's encoder covers, and in which special tokens are not searched.

    Args:
        encoder: the kernel's encoder for the document.
        normalization: the normalization before the encoder, which follows the search for added tokens in the raw text.
        without_last_spaces: removes the trailing spaces of a normalized text that become a token of their own.
        ids_of_last_space: the ids of these.
    """

    def __init__(
        self,
        encoder: DocumentEncoder,
        normalization: TextNormalization,
        *,
        without_last_spaces: Callable[[str], str],
        ids_of_last_space: Sequence[int],
    ) -> None:
        self._encoder = encoder
        self._normalization = normalization
        self._without_last_spaces = without_last_spaces
        self._ids_of_last_space = list(ids_of_last_space)

    def leaves(self, text: str) -> bool:
        """Whether the spans of a text are known that normalization does not change."""
        unchanged = self._normalization.leaves(text) or self._normalization(text) == text
        return unchanged and self._knows(text)

    def know(self, text: str, normal: str) -> bool:
        """Whether the spans of a text are known, given its normalized form."""
        if text == normal and self._knows(text):
            return True
        return self._know_origins_of(text, normal)

    def _know_origins_of(self, text: str, normal: str) -> bool:
        normalization = self._normalization
        if not (normalization.knows_origins and normalization.knows_origins_of(text)):
            return False
        # An added token that normalization writes is an ordinary text to the library.
        return self._knows(normal) and not self._encoder.added_places(normal.encode())

    def _knows(self, normal: str) -> bool:
        rest = self._without_last_spaces(normal)
        return len(normal) - len(rest) <= 1 and self._encoder.tells_places(rest)

    def from_kernel(self, texts: list[str], threads: int) -> Places:
        """Return the ids of texts, their starts and stops in bytes of each text, and the number of ids of each text.

        Args:
            texts: texts for which `leaves` is true.
            threads: the number of threads.
        """
        return self._placed(texts, threads)

    def from_normalized(self, texts: list[str], threads: int) -> Places:
        """Return the same for texts that `know` is true for, but not `leaves`."""
        traced = list(map(self._normalization.with_origins, texts))
        normal = [made for made, _ in traced]
        origins = [origins for _, origins in traced]
        ids, starts, stops, counts = self._placed(normal, threads)
        starts, stops = original_spans(texts, normal, origins, starts=starts, stops=stops, counts=counts)
        return ids, starts, stops, counts

    def _placed(self, texts: list[str], threads: int) -> Places:
        rests = list(map(self._without_last_spaces, texts))
        ids, starts, stops, counts = self._encoder.place_batch(rests, threads)
        ends_in_space = np.array([len(text) != len(rest) for text, rest in zip(texts, rests, strict=True)])
        if not ends_in_space.any():
            return ids, starts, stops, counts
        size = len(self._ids_of_last_space)
        places = np.repeat(np.cumsum(counts)[ends_in_space], size)
        ends = [
            (len(rest.encode()), len(text.encode()))
            for text, rest in zip(texts, rests, strict=True)
            if len(text) != len(rest)
        ]
        first, after = np.repeat(np.array(ends, np.int64), size, axis=0).T
        added = np.array(self._ids_of_last_space * len(ends), np.uint32)
        return (
            np.insert(ids, places, added),
            np.insert(starts, places, first),
            np.insert(stops, places, after),
            counts + size * ends_in_space,
        )
