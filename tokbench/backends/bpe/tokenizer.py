"""The byte-level BPE tokenizer: encoding, decoding, and conversion for other tools."""

from __future__ import annotations

import os
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self, cast

from tokbench.backends.bpe.custom_encoder import CustomEncoder
from tokbench.backends.bpe.derivation import ExplainsMerges
from tokbench.backends.bpe.kernel import (
    check_fits_tiktoken,
    described,
    encoder_of,
    fillers_of,
    gaps_of,
    id_array,
    id_sequence,
)
from tokbench.backends.bpe.normalization import NfcAlignment
from tokbench.backends.bpe.split_patterns import SplitPattern, split
from tokbench.core.base import TakesTemplate, surrogates_named, utf8
from tokbench.core.capabilities import Decoding
from tokbench.core.interfaces import TokenizerInfo
from tokbench.core.post_processing import NOTHING, model_input
from tokbench.core.special_tokens import SpecialTokenFinder
from tokbench.core.token_table import TokenTable
from tokbench.core.tokens import Encoded, Span, SpecialPolicy, Token, TokenKind
from tokbench.errors import ConfigError
from tokbench.store.saveable import SaveableTokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import tiktoken
    from numpy.typing import NDArray

    from tokbench.backends.bpe.dropout import DropoutEncoder
    from tokbench.backends.bpe.kernel import Decoder, Encoder, Kernel
    from tokbench.backends.bpe.reference import Merge
    from tokbench.core.descriptions import ByteLevelBpe, PostProcessing
    from tokbench.core.documents import TextIdentity
    from tokbench.core.interfaces import TrainingRecord
    from tokbench.core.token_arrays import PieceTable
    from tokbench.core.tokens import EncodedSpans, ModelInput

_MOST_DECODED = 1 << 24
"""Ids from this one on are decoded one by one; a table holds all smaller ids."""
_IDS_FOR_THREADS = 1 << 16
_FEW_IDS = 1 << 12


class BpeTokenizer(ExplainsMerges, SaveableTokenizer, TakesTemplate):
    """A byte-level BPE tokenizer: lossless for every text, unless its pattern normalizes.

    Attributes:
        pattern: the split pattern.
        merges: the learned merges in order; None for a tokenizer built from ranks alone.
        config: the training options, as plain data.
    """

    def __init__(
        self,
        *,
        name: str,
        pattern: SplitPattern,
        encoder: Encoder,
        kernel: Kernel,
        special_tokens: Mapping[str, int],
        merges: tuple[Merge, ...] | None = None,
        config: Mapping[str, Any] | None = None,
        training: TrainingRecord | None = None,
        identify_text: Callable[[], TextIdentity] | None = None,
        description: ByteLevelBpe | None = None,
    ) -> None:
        self.pattern = pattern
        self.merges = merges
        self.config = dict(config or {})
        self.identify_text = identify_text
        self._encoder = encoder
        self._text_encoder = CustomEncoder(encoder, pattern, kernel) if pattern.is_custom else encoder
        self._kernel = kernel
        self._num_ordinary = len(encoder)
        self._description = description
        # Only a tokenizer that another tool trained can have ids without a token.
        self._gaps = frozenset() if description is None else gaps_of(description.tokens)
        self._fillers = frozenset() if description is None else fillers_of(description.tokens)
        info = TokenizerInfo(
            name=name,
            backend="bpe",
            vocab_size=max([self._num_ordinary - 1, *special_tokens.values()]) + 1,
            special_tokens=dict(special_tokens),
            lossless=pattern.normalization is None,
            kernel=kernel.name,
        )
        super().__init__(info, training=training)
        if description is not None and description.token_flags:
            self._finder = SpecialTokenFinder(special_tokens, flags=description.token_flags)

    @classmethod
    def from_ranks(
        cls,
        tokens: Sequence[bytes],
        *,
        pattern: SplitPattern,
        kernel: Kernel,
        name: str = "ranks",
        special_tokens: Mapping[str, int] | None = None,
    ) -> BpeTokenizer:
        """Build a tokenizer that merges as `tiktoken` does, from token bytes in the order of their ranks."""
        encoder = kernel.encoder_from_ranks(list(tokens), pattern.kernel_name)
        return cls(
            name=name, pattern=pattern, encoder=encoder, kernel=kernel, special_tokens=special_tokens or {}
        )

    @classmethod
    def from_description(cls, description: ByteLevelBpe, *, name: str, kernel: Kernel) -> Self:
        """Build a tokenizer of any origin: ids may be in any order, with gaps and special tokens anywhere.

        Args:
            description: the components of the tokenizer.
            name: the name that the user gives it.
            kernel: the kernel that runs it.

        Raises:
            ValueError: the tokens and merges contradict one another.
        """
        pattern = SplitPattern(
            name=description.pattern_name,
            regex=description.pattern,
            normalization="nfc" if description.normalization == "nfc" else None,
        )
        return cls(
            name=name,
            pattern=pattern,
            encoder=encoder_of(description, kernel, pattern.kernel_name),
            kernel=kernel,
            special_tokens=description.special_tokens,
            description=description,
        )

    # --- encoding -----------------------------------------------------------------------------

    def encode(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> list[int]:
        """Encode a text. Raises `SpecialTokenError` under `SpecialPolicy.RAISE`, `TextError` for surrogates."""
        if not self._searches_specials(special):
            return self.encode_ordinary(text)
        return super().encode(text, special=special)

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode text, treating special tokens as ordinary text. Raises `TextError` for surrogates."""
        try:
            return self._text_encoder.encode(self.pattern.normalized(text))
        except (UnicodeEncodeError, TypeError, AttributeError):
            utf8(text)  # raises TextError with the position in the original text
            raise

    def encode_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> Encoded:
        """Return the ids of many texts in arrays, on `threads` threads (None: one a processor). Raises as `encode`."""
        if self._searches_specials(special):
            return super().encode_batch(texts, special=special, threads=threads)
        with surrogates_named(texts):
            ids, offsets = self._text_encoder.encode_batch(
                self._prepared(texts), threads or os.cpu_count() or 1
            )
        return Encoded(ids=ids, offsets=offsets)

    def count_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> NDArray[np.int64]:
        """Return how many ids `encode_batch` would give, without building them where possible. Raises as it does."""
        if self._searches_specials(special):
            return self.encode_batch(texts, special=special, threads=threads).counts
        with surrogates_named(texts):
            return self._text_encoder.count_batch(self._prepared(texts), threads or os.cpu_count() or 1)

    def make_ready(self) -> None:
        """Build in advance what is otherwise built once much text has come; see `MakesReady`."""
        self._text_encoder.complete()

    def _prepared(self, texts: Sequence[str]) -> list[str]:
        """Return the texts, normalized as the pattern requires."""
        if self.pattern.normalization is None:
            return list(texts)
        return [self.pattern.normalized(text) for text in texts]

    @property
    def post_processing(self) -> PostProcessing:
        """The post-processing that the original file defines for ids before they go to a model."""
        return NOTHING if self._description is None else self._description.post_processing

    def input_of_texts(
        self, texts: Sequence[str], *, special: SpecialPolicy, template: bool, limits: bool
    ) -> ModelInput:
        """Return the model input for one text or a pair of texts; see `TakesTemplate`."""
        ids = [self.encode(text, special=special) for text in texts]
        return model_input(self.post_processing, ids, template=template, limits=limits)

    def segment_ordinary(self, text: str) -> Iterator[Token]:
        """Yield the tokens of a text, treating special tokens as ordinary text; spans are relative to its start."""
        prepared = self.pattern.normalized(text)
        alignment = None if prepared == text else NfcAlignment(text)
        start = 0
        ids = self.encode_ordinary(text)
        tokens = cast("Sequence[bytes]", self._tokens_for(len(ids)))  # encoding never gives the id of a gap
        for id in ids:
            piece = tokens[id]
            span = Span(start, start + len(piece))
            start = span.stop
            yield Token(id, piece, span if alignment is None else alignment.original(span), TokenKind.NORMAL)

    def encode_spans(self, texts: Sequence[str], *, threads: int | None = None) -> EncodedSpans:
        """Return the tokens of many texts with their spans, in arrays. Raises `TextError` for surrogates."""
        from tokbench.core.token_arrays import divided, segmented

        return divided(
            texts,
            where=lambda text: self.pattern.normalized(text) == text,
            then=partial(self._encode_tiled, threads=threads),
            otherwise=partial(segmented, self),
        )

    def _encode_tiled(self, texts: Sequence[str], *, threads: int | None) -> EncodedSpans:
        """Return the tokens of texts that normalization does not change, so that their spans are contiguous."""
        from tokbench.core.token_arrays import TiledSpans

        return TiledSpans(BpeTokenizer.encode_batch(self, texts, threads=threads), self._piece_table)

    def pretokens(self, text: str) -> list[str]:
        """Return the pre-tokens of a text; joined, they are the text, or its NFC form if the pattern normalizes."""
        utf8(text)
        prepared = self.pattern.normalized(text)
        if self.pattern.is_custom:
            return split(self.pattern, prepared)
        data = prepared.encode()
        ends = self._kernel.split(self.pattern.name, data).tolist()
        return [data[start:end].decode() for start, end in pairwise([0, *ends])]

    def sample(
        self, text: str, *, seed: int, alpha: float | None = None, nbest_size: int | None = None
    ) -> list[int]:
        """Return the ids of a text with BPE dropout, the same on every kernel; see `dropout.py`.

        Args:
            text: the text; special tokens in it are ordinary text.
            seed: the seed that decides the segmentation.
            alpha: the probability that a merge is dropped; None means 0.1.
            nbest_size: must be None; only tokenizers that rank segmentations support it.

        Raises:
            ConfigError: `alpha` is not a probability, or `nbest_size` is given.
            TextError: the text contains a lone surrogate.
        """
        from tokbench.backends.bpe.dropout import DEFAULT_DROPOUT

        if nbest_size is not None:
            raise ConfigError(
                "BPE does not rank segmentations, so nbest_size has no meaning", hint="leave it out"
            )
        pretokens = (pretoken.encode() for pretoken in self.pretokens(text))
        dropout = DEFAULT_DROPOUT if alpha is None else alpha
        return self._dropout_encoder.encode(pretokens, dropout=dropout, seed=seed)

    @cached_property
    def _dropout_encoder(self) -> DropoutEncoder:
        from tokbench.backends.bpe.dropout import DropoutEncoder

        return DropoutEncoder(self.description())

    # --- decoding -----------------------------------------------------------------------------

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids. Raises `UnknownIdError`."""
        try:
            known = id_array(ids)
            # For a few ids, asking for the number of processors would take longer than decoding.
            threads = (os.cpu_count() or 1) if len(known) >= _IDS_FOR_THREADS else 1
            return self._decoder.decode(known, threads)
        except (TypeError, ValueError, OverflowError):
            found = id_sequence(ids)
        return super().decode_bytes(found)  # it says which id is unknown

    @property
    def decoding(self) -> Decoding:
        """How ids are decoded: their bytes are joined."""
        return Decoding.JOINED

    def ordinary_bytes(self, id: int) -> bytes | None:
        """Return the bytes of a token that is not special, or None if the vocabulary has no such id."""
        return self._tokens_for(1)[id] if id < self._num_ordinary and id not in self._gaps else None

    def token_id(self, piece: bytes) -> int | None:
        """Return the id of a token, or None; a special token is looked up by the bytes of its text."""
        return self._ids.get(piece)

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes of one token. Raises `UnknownIdError`."""
        return self._known.get(id) or self._known_bytes(id, 0)

    @cached_property
    def _known(self) -> dict[int, bytes]:
        """The bytes of every id in the vocabulary."""
        known = {id: token for id, token in enumerate(self._tokens) if id not in self._gaps}
        return known | self._special_bytes

    @cached_property
    def _decoder(self) -> Decoder:
        """The decoder of all ids, except special tokens with ids of `_MOST_DECODED` or more."""
        beyond = min(self.info.vocab_size, _MOST_DECODED) - self._num_ordinary
        tokens = [*self._tokens, *[b""] * beyond]
        for id, data in self._special_bytes.items():
            if id < len(tokens):
                tokens[id] = data
        return self._kernel.decoder(tokens)

    @cached_property
    def _tokens(self) -> list[bytes]:
        tokens = self._encoder.tokens()
        for id in self._fillers:
            tokens[id] = b""
        return tokens

    def _tokens_for(self, num_ids: int) -> Sequence[bytes | None]:
        """Return the bytes by id; for a few ids, the table that slices them out of one block on demand."""
        table = None if self._description is None else self._description.tokens
        if num_ids < _FEW_IDS and isinstance(table, TokenTable) and "_tokens" not in self.__dict__:
            return table
        return self._tokens

    @cached_property
    def _piece_table(self) -> PieceTable:
        from tokbench.core.token_arrays import PieceTable

        return PieceTable.of(self._tokens)

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        tokens = {token: id for id, token in enumerate(self._tokens) if id not in self._gaps}
        return tokens | {text: id for id, text in self._special_bytes.items()}

    # --- saving and conversion ----------------------------------------------------------------

    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        """Write the folder that `tokbench.load` opens; it also contains files for `tiktoken` and `tokenizers`.

        Raises:
            StoreError: the folder exists, or cannot be written.
            ConversionError: the learned merges are not known, because tokbench did not train the tokenizer.
        """
        import regex

        from tokbench.backends.bpe.folder import saved_files

        files, left_out = saved_files(
            self.merges,
            pattern=self.pattern,
            special_tokens=self.info.special_tokens,
            displaced=self.displaced,
            config=self.tokenizer_config,
            encode=partial(self.encode, special=SpecialPolicy.ENCODE),
        )
        self.write(
            directory,
            files,
            overwrite=overwrite,
            config={**self.config, "left_out": left_out},
            versions={"regex": regex.__version__},
            seed=int(self.config.get("seed", 0)),
        )

    def description(self) -> ByteLevelBpe:
        """Return the components of the tokenizer; see `tokbench.core.descriptions`."""
        if self._description is not None:
            return self._description
        return described(
            self._tokens, merges=self.merges, pattern=self.pattern, special_tokens=self.info.special_tokens
        )

    def to_tiktoken(self) -> tiktoken.Encoding:
        """Return the same tokenizer as a `tiktoken.Encoding`.

        Raises:
            ConversionError: tiktoken cannot represent the tokenizer.
        """
        from tokbench.formats.tiktoken import to_encoding

        check_fits_tiktoken(self._description, self.pattern)
        return to_encoding(
            self.info.name,
            pattern=self.pattern.regex,
            ranks=[(token, rank) for rank, token in enumerate(self._tokens) if rank not in self._gaps],
            special_tokens=self._special_ids,
        )
