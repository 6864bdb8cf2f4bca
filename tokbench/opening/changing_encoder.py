"""Encode texts that the kernel itself normalizes by a table of characters, if that is the whole normalization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tokbench.opening.document_encoder import DocumentEncoder, PreparedEncoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokbench.native._bpe import CharacterChanges
    from tokbench.opening.character_changes import ChangesByNeed
    from tokbench.opening.found_tokens import FoundToken
    from tokbench.opening.text_normalization import TextNormalization


class ChangingEncoder(PreparedEncoder, Protocol):
    """A kernel encoder that normalizes texts by a table, after the search for added tokens in the raw text."""

    def encode(
        self,
        text: str,
        *,
        specials: bool = False,
        normalized: bool = False,
        changes: CharacterChanges | None = None,
    ) -> list[int]:
        """Return the ids of a text."""

    def encode_batch(
        self,
        texts: list[str],
        threads: int,
        *,
        specials: bool = False,
        normalized: bool = False,
        changes: CharacterChanges | None = None,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the ids of many texts, and their offsets as int64[len(texts) + 1]."""

    def count_batch(
        self,
        texts: list[str],
        threads: int,
        *,
        specials: bool = False,
        normalized: bool = False,
        changes: CharacterChanges | None = None,
    ) -> NDArray[np.int64]:
        """Return the number of ids of each text."""


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
        encoder: ChangingEncoder,
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
        return None if self._first_mark else self._normalization.changes

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
