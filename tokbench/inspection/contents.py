"""What an opened tokenizer is made of, worked out when it is asked for and kept."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokbench.core.descriptions import (
    ByteLevelBpe,
    DescribesItself,
    HuggingFaceModel,
    SentencePieceModel,
)
from tokbench.errors import ConversionError, ModelFormatError, UnknownIdError
from tokbench.explain.model import Symbol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokbench.core.descriptions import Description
    from tokbench.core.interfaces import Tokenizer
    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.inspection.differences import Merge
    from tokbench.metrics.vocabulary import Vocabulary
    from tokbench.opening.request import Opened


class TokenizerContents:
    """The tokens of a tokenizer and its parts, of whatever file and engine.

    Attributes:
        opened: the tokenizer, and what was found in its files.
    """

    def __init__(self, opened: Opened) -> None:
        self.opened = opened

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer, ready for use."""
        return self.opened.tokenizer

    # --- the vocabulary -----------------------------------------------------------------------

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The bytes of each id (None for a gap), which are special, which are no whole characters."""
        from tokbench.metrics.vocabulary import vocabulary_of

        return vocabulary_of(self.tokenizer)

    @cached_property
    def added_ids(self) -> frozenset[int]:
        """The ids of special tokens and of other added tokens: found in a text before the model runs."""
        return frozenset({*self.tokenizer.info.special_tokens.values(), *self.opened.added_tokens.values()})

    @cached_property
    def tokens(self) -> Mapping[int, bytes]:
        """The bytes of each id that has a token, in the order of ids."""
        found: dict[int, bytes] = {}
        for id in range(self.tokenizer.info.vocab_size):
            with suppress(UnknownIdError):
                found[id] = self.tokenizer.token_bytes(id)
        return found

    def symbol(self, id: int) -> Symbol:
        """The token of an id."""
        return Symbol(id, self.tokens.get(id, b""))

    @cached_property
    def ordinary(self) -> Mapping[int, bytes]:
        """The tokens that the model itself makes: id → bytes, in the order of ids."""
        return {
            id: piece
            for id, piece in enumerate(self.vocabulary.pieces)
            if piece is not None and id not in self.added_ids
        }

    # --- what it is made of -------------------------------------------------------------------

    @cached_property
    def description(self) -> Description | None:
        """What the tokenizer says that it is made of, or None."""
        if not isinstance(self.tokenizer, DescribesItself):
            return None
        try:
            return self.tokenizer.description()
        except ConversionError:
            return None

    @cached_property
    def sentencepiece(self) -> SentencePieceFile | None:
        """The SentencePiece model that it is; None where it is none."""
        from tokbench.formats.sentencepiece.model import parse_model

        if not isinstance(self.description, SentencePieceModel):
            return None
        return parse_model(self.description.proto, path=self.opened.source.path)

    @cached_property
    def document(self) -> Mapping[str, Any] | None:
        """The tokenizer.json that it was read from, parsed; None where it is no such file."""
        from tokbench.opening.files import parse_json, read_file
        from tokbench.opening.recognition import Format

        if isinstance(self.description, HuggingFaceModel):
            return parse_json(self.description.document, path=self.opened.source.path)
        if self.opened.source.format is Format.TOKENIZER_JSON:
            return parse_json(read_file(self.opened.source.files[0]), path=self.opened.source.files[0])
        return None

    @cached_property
    def bpe(self) -> ByteLevelBpe | None:
        """It as a byte-level BPE, on whatever engine it runs; None where it is none."""
        from tokbench.opening.native_bpe import NotNativeError, parse_byte_level_bpe

        if isinstance(self.description, ByteLevelBpe):
            return self.description
        if self.document is None or self.opened.added_tokens:
            return None
        try:
            return parse_byte_level_bpe(self.document, path=self.opened.source.path).bpe
        except (NotNativeError, ModelFormatError, KeyError):
            return None

    @cached_property
    def merges(self) -> Sequence[Merge] | None:
        """What each merge joins, in the order of ranks: bytes, or pieces as the file spells them; None for no list."""
        from tokbench.opening.native_bpe import merge_pairs

        if self.bpe is not None:
            tokens, merges = self.bpe.tokens, self.bpe.merges
            return None if merges is None else [(tokens[left], tokens[right]) for left, right, _ in merges]
        model: Mapping[str, Any] = {} if self.document is None else self.document["model"]
        return merge_pairs(model, path=self.opened.source.path) if "merges" in model else None
