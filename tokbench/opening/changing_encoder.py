"""Texts that the kernel itself normalizes by a table of characters, where that is all there is to it."""

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
    """One that normalizes texts by a table, but for what added tokens are found before."""

    def encode(
        self,
        text: str,
        *,
        specials: bool = False,
        normalized: bool = False,
        changes: CharacterChanges | None = None,
    ) -> list[int]:
        """The ids of a text."""

    def encode_batch(
        self,
        texts: list[str],
        threads: int,
        *,
        specials: bool = False,
        normalized: bool = False,
        changes: CharacterChanges | None = None,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The ids of many texts, and int64[len(texts) + 1] offsets."""

    def count_batch(
        self,
        texts: list[str],
        threads: int,
        *,
        specials: bool = False,
        normalized: bool = False,
        changes: CharacterChanges | None = None,
    ) -> NDArray[np.int64]:
        """How many ids each text has."""


class ChangingDocumentEncoder(DocumentEncoder):
    """A `DocumentEncoder` that leaves it to the kernel to normalize texts, where that goes by characters.

    Args:
        encoder: the kernel's for a document.
        normalization: what is done to a text first, but for what added tokens are found before.
        added: the added tokens.
        specials: whether special tokens are found.
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
        """The ids of a text."""
        if (changes := self._changes) is None:
            return super().encode(text)
        return self._changing.encode(text, specials=self._specials, changes=changes.of([text]))

    def encode_batch(self, texts: list[str], threads: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The ids of many texts, and int64[len(texts) + 1] offsets."""
        if (changes := self._changes) is None:
            return super().encode_batch(texts, threads)
        table = changes.of(texts, threads)
        return self._changing.encode_batch(texts, threads, specials=self._specials, changes=table)

    def count_batch(self, texts: list[str], threads: int) -> NDArray[np.int64]:
        """How many ids each text has."""
        if (changes := self._changes) is None:
            return super().count_batch(texts, threads)
        table = changes.of(texts, threads)
        return self._changing.count_batch(texts, threads, specials=self._specials, changes=table)
