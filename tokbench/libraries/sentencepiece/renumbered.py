"""A SentencePiece model whose ids come from a separate table of pieces.

The model splits a text into pieces, and the table maps the spelling of each piece to its id, as some classes of
`transformers` do. So a piece of the model that the table lacks is unknown, and a character that only the table has is
known.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.capabilities import Decoding
from tokbench.core.post_processing import NOTHING
from tokbench.core.tokens import Encoded, EncodedSpans, SpecialPolicy, Token, TokenKind
from tokbench.errors import ConversionError
from tokbench.formats.sentencepiece.model import SPACE
from tokbench.libraries.sentencepiece.serialized import without_prefixes
from tokbench.libraries.sentencepiece.tokenizer import EncodesOrdinaryBatches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tokbench.core.descriptions import PostProcessing
    from tokbench.libraries.sentencepiece.models import KernelModel

_NUMBERS = {kind: number for number, kind in enumerate(TokenKind)}


@dataclass(frozen=True, slots=True)
class PieceTable:
    """The ids of pieces, and the special tokens and post-processing of a class of `transformers`.

    Attributes:
        ids: piece → id, without duplicate ids.
        unknown: the unknown piece, which is in `ids`.
        special_tokens: text → id of the special tokens, which may be missing in `ids`.
        roles: role → text of the special token.
        post_processing: the post-processing of the ids of a text before a model gets them.
    """

    ids: Mapping[str, int]
    unknown: str
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    post_processing: PostProcessing = NOTHING


class RenumberedModel(EncodesOrdinaryBatches):
    """A tokenizer that splits texts by a model, and takes ids from a table.

    Args:
        model: the model that splits texts into pieces.
        table: the ids of the pieces.
    """

    def __init__(self, model: KernelModel, table: PieceTable) -> None:
        self._model, self._table = model, table
        self.post_processing = table.post_processing
        self._unknown = table.ids[table.unknown]
        pieces = model.model.pieces
        self._new_ids = np.array([table.ids.get(piece.text, self._unknown) for piece in pieces], np.uint32)
        self._model_unknown = next(id for id, kind in enumerate(model._kinds) if kind is TokenKind.UNKNOWN)
        self._new_ids[self._model_unknown] = self._unknown
        self._only_in_table = table.ids.keys() - {piece.text for piece in pieces}
        largest = max(*table.ids.values(), *table.special_tokens.values(), 0)
        super().__init__(
            replace(model.info, vocab_size=largest + 1, special_tokens=dict(table.special_tokens))
        )

    def own_roles(self) -> Mapping[str, str]:
        """Return the special tokens by role, as the table specifies them."""
        return self._table.roles

    def spelled_id(self, text: str) -> int | None:
        """Return the id of a piece by its spelling in the table, or of a token by its bytes; None if there is none."""
        return self._table.ids.get(text, self.token_id(text.encode()))

    # --- encoding -----------------------------------------------------------------------------

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode text, treating special tokens as ordinary text. Raises `TextError` for surrogates."""
        own = self._model.encode_ordinary(text)
        ids = self._renumbered([text], Encoded(np.array(own, np.uint32), np.array([0, len(own)])))
        return list(map(int, ids))

    def _encode_ordinary_batch(self, texts: Sequence[str], *, threads: int | None) -> Encoded:
        own = self._model.encode_batch(texts, threads=threads)
        return Encoded(self._renumbered(texts, own), own.offsets)

    def count_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> NDArray[np.int64]:
        """Return how many ids `encode_batch` would give for each text. Raises as `encode_batch` does."""
        if self._searches_specials(special):
            return self.encode_batch(texts, special=special, threads=threads).counts
        return self._model.count_batch(texts, threads=threads)

    def segment_ordinary(self, text: str) -> Iterator[Token]:
        """Yield the tokens of a text, treating special tokens as ordinary text; spans are relative to its start."""
        tokens = list(self._model.segment_ordinary(text))
        own = np.fromiter((token.id for token in tokens), np.uint32, len(tokens))
        ids = self._renumbered([text], Encoded(own, np.array([0, len(own)]))).tolist()
        for token, id in zip(tokens, ids, strict=True):
            yield Token(id, self._pieces[id], token.span, self._kind(token.kind, id))

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """Return the tokens of many texts with their spans, in arrays. Raises `TextError` for surrogates."""
        spans = self._model.encode_spans(texts, threads=threads)
        ids = self._renumbered(texts, spans.encoded)
        kinds = spans.kinds.copy()
        kinds[kinds == _NUMBERS[TokenKind.UNKNOWN]] = _NUMBERS[TokenKind.NORMAL]
        kinds[ids == self._unknown] = _NUMBERS[TokenKind.UNKNOWN]
        return EncodedSpans(Encoded(ids, spans.encoded.offsets), spans.starts, spans.stops, kinds)

    def _kind(self, own: TokenKind, id: int) -> TokenKind:
        if id == self._unknown:
            return TokenKind.UNKNOWN
        return TokenKind.NORMAL if own is TokenKind.UNKNOWN else own

    def _renumbered(self, texts: Sequence[str], own: Encoded) -> NDArray[np.uint32]:
        """Convert the model's ids to those of the table."""
        ids = self._new_ids[own.ids]
        if not self._only_in_table:
            return ids
        unknown = np.flatnonzero(own.ids == self._model_unknown)
        rows = np.searchsorted(own.offsets, unknown, side="right") - 1
        for row, places in groupby(zip(rows.tolist(), unknown.tolist(), strict=True), key=itemgetter(0)):
            spelled, start = self._model.spelled_pieces(texts[row]), int(own.offsets[row])
            for _, place in places:
                ids[place] = self._table.ids.get(spelled[place - start], self._unknown)
        return ids

    # --- decoding -----------------------------------------------------------------------------

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of the text of ids, without the dummy prefix. Raises `UnknownIdError`."""
        parts = self._pieces_of(ids)
        parts = without_prefixes(
            parts,
            ids,
            specials=self._beginnings,
            strippable=self._strippable,
            normalizer=self._model.model.normalizer,
        )
        return b"".join(parts)

    @property
    def decoding(self) -> Decoding:
        """How ids are decoded: the dummy prefix is dropped only at the start of a text."""
        return Decoding.FROM_LEFT

    def ordinary_bytes(self, id: int) -> bytes | None:
        """Return the bytes of a piece, with ▁ as a space, or None if the table has no such id."""
        return self._pieces.get(id)

    def token_id(self, piece: bytes) -> int | None:
        """Return the id of a token, or None; a special token is looked up by the bytes of its text."""
        return self._ids.get(piece)

    @cached_property
    def _pieces(self) -> dict[int, bytes]:
        pieces = {id: text.replace(SPACE, " ").encode() for text, id in self._table.ids.items()}
        pieces |= {
            int(id): self._model._surfaces[own] for own, id in enumerate(self._new_ids) if id != self._unknown
        }
        return {**pieces, self._unknown: self._model._surfaces[self._model_unknown]}

    @cached_property
    def _beginnings(self) -> dict[int, bytes]:
        """The special tokens after which a new text begins; the unknown token is not one of them."""
        return {id: text for id, text in self._special_bytes.items() if id != self._unknown}

    @cached_property
    def _strippable(self) -> set[int]:
        return {id for text, id in self._table.ids.items() if text.startswith(SPACE) and id != self._unknown}

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        ids = {piece: id for id, piece in reversed(self._pieces.items())}
        return ids | {text: id for id, text in self._special_bytes.items()}

    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        """Raise `ConversionError`: no single file holds both the model and the table."""
        del directory, overwrite
        raise ConversionError(
            f"{self.info.name!r} is a model with a separate table of ids, which no single file can contain",
            hint="copy its folder",
        )
