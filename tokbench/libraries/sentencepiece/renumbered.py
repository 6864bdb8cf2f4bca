"""A SentencePiece model whose pieces have the ids of a table beside it.

The model cuts a text, and the table gives each piece its id by its spelling, as classes of `transformers` do that read
both. So a piece of the model that the table does not have is unknown, and a character that only the table has is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.base import TakesTemplate
from tokbench.core.capabilities import Decoding
from tokbench.core.encoded import Encoded, EncodedSpans
from tokbench.core.post_processing import NOTHING, model_input
from tokbench.core.tokens import ModelInput, SpecialPolicy, Token, TokenKind
from tokbench.errors import ConversionError
from tokbench.formats.sentencepiece.model import SPACE
from tokbench.libraries.sentencepiece.serialized import without_prefixes
from tokbench.store.saveable import SaveableTokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tokbench.core.descriptions import PostProcessing
    from tokbench.libraries.sentencepiece.models import KernelModel

_NUMBERS = {kind: number for number, kind in enumerate(TokenKind)}


@dataclass(frozen=True, slots=True)
class PieceTable:
    """The ids of pieces, and what a class makes of them.

    Attributes:
        ids: piece → id, each id once.
        unknown: the piece that stands for what has none; it is in `ids`.
        special_tokens: text → id of those that only the id stands for, in `ids` or not.
        roles: what a special token is to the model → its text.
        post_processing: what is done to the ids of a text before the model gets them.
    """

    ids: Mapping[str, int]
    unknown: str
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    post_processing: PostProcessing = NOTHING


class RenumberedModel(TakesTemplate, SaveableTokenizer):
    """A tokenizer that cuts texts by a model, and takes ids from a table.

    Args:
        model: cuts the texts.
        table: has the ids.
    """

    def __init__(self, model: KernelModel, table: PieceTable) -> None:
        self._model, self._table = model, table
        self.post_processing = table.post_processing
        self._unknown = table.ids[table.unknown]
        pieces = model.model.pieces
        self._to = np.array([table.ids.get(piece.text, self._unknown) for piece in pieces], np.uint32)
        self._own_unknown = next(id for id, kind in enumerate(model._kinds) if kind is TokenKind.UNKNOWN)
        self._to[self._own_unknown] = self._unknown
        self._only_in_table = table.ids.keys() - {piece.text for piece in pieces}
        largest = max(*table.ids.values(), *table.special_tokens.values(), 0)
        super().__init__(
            replace(model.info, vocab_size=largest + 1, special_tokens=dict(table.special_tokens))
        )

    def own_roles(self) -> Mapping[str, str]:
        """Role → text, as the class says."""
        return self._table.roles

    def spelled_id(self, text: str) -> int | None:
        """The id of a piece as the table spells it, or of a token by its bytes; None where there is none."""
        return self._table.ids.get(text, self.token_id(text.encode()))

    # --- encoding -----------------------------------------------------------------------------

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode text, treating special tokens as ordinary text. Raises `TextError` for surrogates."""
        own = self._model.encode_ordinary(text)
        ids = self._renumbered([text], Encoded(np.array(own, np.uint32), np.array([0, len(own)])))
        return list(map(int, ids))

    def encode_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> Encoded:
        """The ids of many texts in arrays; the result does not depend on `threads`.

        Raises:
            SpecialTokenError: a text holds one under `SpecialPolicy.RAISE`.
            TextError: a text holds a lone surrogate.
        """
        if special is not SpecialPolicy.TEXT and self._special_ids:
            return super().encode_batch(texts, special=special, threads=threads)
        own = self._model.encode_batch(texts, threads=threads)
        return Encoded(self._renumbered(texts, own), own.offsets)

    def count_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> NDArray[np.int64]:
        """How many ids `encode_batch` would give for each text. Raises as `encode_batch` does."""
        if special is not SpecialPolicy.TEXT and self._special_ids:
            return self.encode_batch(texts, special=special, threads=threads).counts
        return self._model.count_batch(texts, threads=threads)

    def segment_ordinary(self, text: str) -> Iterator[Token]:
        """Segment text, treating special tokens as ordinary text; spans count from its beginning."""
        tokens = list(self._model.segment_ordinary(text))
        own = np.fromiter((token.id for token in tokens), np.uint32, len(tokens))
        ids = self._renumbered([text], Encoded(own, np.array([0, len(own)]))).tolist()
        for token, id in zip(tokens, ids, strict=True):
            yield Token(id, self._pieces[id], token.span, self._kind(token.kind, id))

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """The tokens of many texts with their spans, in arrays. Raises `TextError` for surrogates."""
        found = self._model.encode_spans(texts, threads=threads)
        ids = self._renumbered(texts, found.encoded)
        kinds = found.kinds.copy()
        kinds[kinds == _NUMBERS[TokenKind.UNKNOWN]] = _NUMBERS[TokenKind.NORMAL]
        kinds[ids == self._unknown] = _NUMBERS[TokenKind.UNKNOWN]
        return EncodedSpans(Encoded(ids, found.encoded.offsets), found.starts, found.stops, kinds)

    def _kind(self, own: TokenKind, id: int) -> TokenKind:
        if id == self._unknown:
            return TokenKind.UNKNOWN
        return TokenKind.NORMAL if own is TokenKind.UNKNOWN else own

    def _renumbered(self, texts: Sequence[str], own: Encoded) -> NDArray[np.uint32]:
        """The ids of the table for those of the model."""
        ids = self._to[own.ids]
        if not self._only_in_table:
            return ids
        unknown = np.flatnonzero(own.ids == self._own_unknown)
        rows = np.searchsorted(own.offsets, unknown, side="right") - 1
        for row, places in groupby(zip(rows.tolist(), unknown.tolist(), strict=True), key=itemgetter(0)):
            spelled, start = self._model.spelled_pieces(texts[row]), int(own.offsets[row])
            for _, place in places:
                ids[place] = self._table.ids.get(spelled[place - start], self._unknown)
        return ids

    def input_of_texts(
        self, texts: Sequence[str], *, special: SpecialPolicy, template: bool, limits: bool
    ) -> ModelInput:
        """What a model gets of one text or two; see `TakesTemplate`."""
        ids = [self.encode(text, special=special) for text in texts]
        return model_input(self.post_processing, ids, template=template, limits=limits)

    # --- decoding -----------------------------------------------------------------------------

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """The bytes of ids: the text's, without the dummy prefix. Raises `UnknownIdError`."""
        parts = self._pieces_of(ids)
        made = without_prefixes(
            parts,
            ids,
            specials=self._beginnings,
            strippable=self._strippable,
            normalizer=self._model.model.normalizer,
        )
        return b"".join(made)

    @property
    def decoding(self) -> Decoding:
        """What is dropped depends on whether a text has begun."""
        return Decoding.FROM_LEFT

    def ordinary_bytes(self, id: int) -> bytes | None:
        """The bytes that a piece stands for: ▁ is a space; None where the table has no such id."""
        return self._pieces.get(id)

    def token_id(self, piece: bytes) -> int | None:
        """The id of a token, or None; special tokens are found by the bytes of their text."""
        return self._ids.get(piece)

    @cached_property
    def _pieces(self) -> dict[int, bytes]:
        pieces = {id: text.replace(SPACE, " ").encode() for text, id in self._table.ids.items()}
        pieces |= {
            int(id): self._model._surfaces[own] for own, id in enumerate(self._to) if id != self._unknown
        }
        return {**pieces, self._unknown: self._model._surfaces[self._own_unknown]}

    @cached_property
    def _beginnings(self) -> dict[int, bytes]:
        """The special tokens after which a text begins anew: not what is unknown, which stands in one."""
        return {id: text for id, text in self._special_bytes.items() if id != self._unknown}

    @cached_property
    def _strippable(self) -> set[int]:
        return {id for text, id in self._table.ids.items() if text.startswith(SPACE) and id != self._unknown}

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        found = {piece: id for id, piece in reversed(self._pieces.items())}
        return found | {text: id for id, text in self._special_bytes.items()}

    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        """Refused: no file of one format has both. Raises `ConversionError`."""
        del directory, overwrite
        raise ConversionError(
            f"{self.info.name!r} is a model and a table of ids beside it, which no single file holds",
            hint="copy its folder",
        )
