"""Texts of a `tokenizer.json` for the kernel: normalized in Python, where it is not the kernel that normalizes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from tokbench.core.encoded import Encoded
from tokbench.core.token_arrays import divided_ids, offsets_of
from tokbench.opening.found_tokens import rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokbench.opening.found_tokens import FoundToken
    from tokbench.opening.text_normalization import TextNormalization


class PreparedEncoder(Protocol):
    """An encoder of the kernel that finds added tokens, in `normalized` texts only those found after normalization."""

    def added_places(self, text: bytes, *, specials: bool) -> list[tuple[int, int, int]]:
        """(start, stop, id) of the added tokens that are found before a text is normalized."""

    def encode(self, text: str, *, specials: bool = False, normalized: bool = False) -> list[int]:
        """The ids of a text."""

    def encode_batch(
        self, texts: list[str], threads: int, *, specials: bool = False, normalized: bool = False
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The ids of many texts, and int64[len(texts) + 1] offsets."""

    def count_batch(
        self, texts: list[str], threads: int, *, specials: bool = False, normalized: bool = False
    ) -> NDArray[np.int64]:
        """How many ids each text has."""


class DocumentEncoder:
    """Encodes texts on the kernel: finds added tokens, normalizes what is between them, and has the rest done.

    Args:
        encoder: the kernel's for a document.
        normalization: what is done to a text first, but for what added tokens are found before.
        added: the added tokens.
        specials: whether special tokens are found.
        first_mark: what is put in front of a text that begins neither with it nor with a space or an added token.
    """

    def __init__(
        self,
        encoder: PreparedEncoder,
        normalization: TextNormalization,
        *,
        added: Sequence[FoundToken],
        specials: bool,
        first_mark: str = "",
    ) -> None:
        self._normalization = normalization
        self._encoder = encoder
        self._specials = specials
        self._first_mark = first_mark
        self._finds_first = bool(not self.takes_texts_as_they_are and rows_of(added, specials=specials)[0])
        """Whether some added tokens are looked for before a text is normalized."""

    @property
    def takes_texts_as_they_are(self) -> bool:
        """Whether the kernel normalizes, if anybody does."""
        return not (self._normalization or self._first_mark)

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        if self._leaves(text):
            return self._encoder.encode(text, specials=self._specials)
        if self._is_found_first(text):
            return self._encode_parts(text)
        return self._encoder.encode(self._changed(text), specials=self._specials, normalized=True)

    def encode_batch(self, texts: list[str], threads: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The ids of many texts, and int64[len(texts) + 1] offsets."""
        if self.takes_texts_as_they_are:
            return self._encoder.encode_batch(texts, threads, specials=self._specials)
        encoded = divided_ids(
            texts,
            where=self._leaves,
            then=lambda left: Encoded(
                *self._encoder.encode_batch(list(left), threads, specials=self._specials)
            ),
            otherwise=lambda others: self._encode_changed(others, threads),
        )
        return encoded.ids, encoded.offsets

    def count_batch(self, texts: list[str], threads: int) -> NDArray[np.int64]:
        """How many ids each text has."""
        if all(map(self._leaves, texts)):
            return self._encoder.count_batch(list(texts), threads, specials=self._specials)
        if any(map(self._is_found_first, texts)):
            return np.diff(self.encode_batch(texts, threads)[1])
        return self._encoder.count_batch(
            list(map(self._changed, texts)), threads, specials=self._specials, normalized=True
        )

    def _encode_changed(self, texts: Sequence[str], threads: int) -> Encoded:
        return divided_ids(
            texts,
            where=self._is_found_first,
            then=self._encode_each,
            otherwise=lambda others: Encoded(
                *self._encoder.encode_batch(
                    list(map(self._changed, others)), threads, specials=self._specials, normalized=True
                )
            ),
        )

    def _leaves(self, text: str) -> bool:
        """Whether a text, and every part of it, is certainly encoded as it is."""
        return not self._first_mark and self._normalization.leaves(text)

    def _changed(self, text: str) -> str:
        """A text, or the part of one up to an added token, as it is encoded."""
        normal = self._normalization(text)
        is_marked = not normal or normal.startswith((self._first_mark, " "))
        return normal if is_marked else self._first_mark + normal

    def _is_found_first(self, text: str) -> bool:
        """Whether an added token is found in a text before it is normalized."""
        return self._finds_first and bool(self._encoder.added_places(text.encode(), specials=self._specials))

    def _encode_each(self, texts: Sequence[str]) -> Encoded:
        encoded = list(map(self._encode_parts, texts))
        return Encoded(
            ids=np.array([id for ids in encoded for id in ids], np.uint32),
            offsets=offsets_of(list(map(len, encoded))),
        )

    def _encode_parts(self, text: str) -> list[int]:
        """The ids of a text in which added tokens are found before the parts between them are normalized."""
        data = text.encode()
        ids: list[int] = []
        end = 0
        places = self._encoder.added_places(data, specials=self._specials)
        for start, stop, id in [*places, (len(data), len(data), None)]:
            part = data[end:start].decode()
            part = self._normalization(part) if end else self._changed(part)
            ids += self._encoder.encode(part, specials=self._specials, normalized=True)
            if id is not None:
                ids.append(id)
            end = stop
        return ids
