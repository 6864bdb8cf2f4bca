"""Encode texts of a `tokenizer.json` on the kernel, normalizing them in Python unless the kernel does that itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from tokbench.core.token_arrays import divided_ids, offsets_of
from tokbench.core.tokens import Encoded
from tokbench.opening.found_tokens import rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokbench.native import _bpe
    from tokbench.opening.character_changes import ChangesByNeed
    from tokbench.opening.found_tokens import FoundToken
    from tokbench.opening.text_normalization import TextNormalization

    CompiledEncoder = (
        _bpe.PreparedEncoder | _bpe.PreparedWordBpe | _bpe.PreparedWordPiece | _bpe.PreparedWordUnigram
    )


class PreparedEncoder(Protocol):
    """A kernel encoder that finds added tokens; in `normalized` texts only the tokens matched after normalization."""

    def added_places(self, text: bytes, *, specials: bool) -> list[tuple[int, int, int]]:
        """Return (start, stop, id) of the added tokens found in a raw text, before normalization."""

    def encode(self, text: str, *, specials: bool = False, normalized: bool = False) -> list[int]:
        """Return the ids of a text."""

    def encode_batch(
        self, texts: list[str], threads: int, *, specials: bool = False, normalized: bool = False
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the ids of many texts, and their offsets as int64[len(texts) + 1]."""

    def count_batch(
        self, texts: list[str], threads: int, *, specials: bool = False, normalized: bool = False
    ) -> NDArray[np.int64]:
        """Return the number of ids of each text."""


class DocumentEncoder:
    """An encoder that finds added tokens, normalizes the parts between them, and encodes these on the kernel.

    Args:
        encoder: the kernel's encoder for the document.
        normalization: the normalization of a text, which follows the search for added tokens in the raw text.
        added: the added tokens.
        specials: whether special tokens are searched.
        first_mark: the mark put in front of a text, unless it begins with that mark, a space or an added token.
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
        """Whether some added tokens are searched before a text is normalized."""

    @property
    def takes_texts_as_they_are(self) -> bool:
        """Whether texts need no normalization in Python."""
        return not (self._normalization or self._first_mark)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        if self._leaves(text):
            return self._encoder.encode(text, specials=self._specials)
        if self._is_found_first(text):
            return self._encode_parts(text)
        return self._encoder.encode(self._changed(text), specials=self._specials, normalized=True)

    def encode_batch(self, texts: list[str], threads: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the ids of many texts, and their offsets as int64[len(texts) + 1]."""
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
        """Return the number of ids of each text."""
        if all(map(self._leaves, texts)):
            return self._encoder.count_batch(list(texts), threads, specials=self._specials)
        if any(map(self._is_found_first, texts)):
            return np.diff(self.encode_batch(texts, threads)[1])
        return self._encoder.count_batch(
            list(map(self._changed, texts)), threads, specials=self._specials, normalized=True
        )

    @property
    def normalizes_in_python(self) -> bool:
        """Whether most texts are normalized in Python."""
        return not self.takes_texts_as_they_are

    def normalized(self, text: str) -> str | None:
        """Return a text as `encode_normalized` takes it; None if added tokens must be found before."""
        return None if self._is_found_first(text) else self._changed(text)

    def encode_normalized(
        self, texts: list[str], threads: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return what `encode_batch` does, for texts after `normalized`."""
        return self._encoder.encode_batch(texts, threads, specials=self._specials, normalized=True)

    def _encode_changed(self, texts: Sequence[str], threads: int) -> Encoded:
        return divided_ids(
            texts,
            where=self._is_found_first,
            then=self._encode_each,
            otherwise=lambda others: Encoded(
                *self.encode_normalized(list(map(self._changed, others)), threads)
            ),
        )

    def _leaves(self, text: str) -> bool:
        """Whether a text, and every part of it, is certainly encoded without change."""
        return not self._first_mark and self._normalization.leaves(text)

    def _changed(self, text: str) -> str:
        """Return a text, or its part before the first added token, normalized and with its mark."""
        normal = self._normalization(text)
        is_marked = not normal or normal.startswith((self._first_mark, " "))
        return normal if is_marked else self._first_mark + normal

    def _is_found_first(self, text: str) -> bool:
        """Whether an added token occurs in a text before it is normalized."""
        return self._finds_first and bool(self._encoder.added_places(text.encode(), specials=self._specials))

    def _encode_each(self, texts: Sequence[str]) -> Encoded:
        encoded = list(map(self._encode_parts, texts))
        return Encoded(
            ids=np.array([id for ids in encoded for id in ids], np.uint32),
            offsets=offsets_of(list(map(len, encoded))),
        )

    def _encode_parts(self, text: str) -> list[int]:
        """Encode a text with added tokens that are found before the parts between them are normalized."""
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


class ChangingDocumentEncoder(DocumentEncoder):
    """A `DocumentEncoder` that lets the kernel normalize texts if the normalization works character by character.

    Args:
        encoder: the kernel's encoder for the document.
        normalization: the normalization of a text, which follows the search for added tokens in the raw text.
        added: the added tokens.
        specials: whether special tokens are searched.
        first_mark: as for a `DocumentEncoder`.
    """

    def __init__(
        self,
        encoder: CompiledEncoder,
        normalization: TextNormalization,
        *,
        added: Sequence[FoundToken],
        specials: bool,
        first_mark: str = "",
    ) -> None:
        super().__init__(encoder, normalization, added=added, specials=specials, first_mark=first_mark)
        self._changing = encoder

    @property
    def _changes(self) -> ChangesByNeed | None:
        if self._first_mark:
            return None
        return self._normalization.changes or self._normalization.changes_after_nfc

    @property
    def normalizes_in_python(self) -> bool:
        """Whether most texts are normalized in Python."""
        return super().normalizes_in_python and self._changes is None

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        if (changes := self._changes) is None:
            return super().encode(text)
        return self._changing.encode(text, specials=self._specials, changes=changes.of([text]))

    def encode_batch(self, texts: list[str], threads: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the ids of many texts, and their offsets as int64[len(texts) + 1]."""
        if (changes := self._changes) is None:
            return super().encode_batch(texts, threads)
        table = changes.of(texts, threads)
        return self._changing.encode_batch(texts, threads, specials=self._specials, changes=table)

    def count_batch(self, texts: list[str], threads: int) -> NDArray[np.int64]:
        """Return the number of ids of each text."""
        if (changes := self._changes) is None:
            return super().count_batch(texts, threads)
        table = changes.of(texts, threads)
        return self._changing.count_batch(texts, threads, specials=self._specials, changes=table)
