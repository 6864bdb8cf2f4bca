"""A trained byte-level BPE: text to ids and back, and the forms in which other tools open it."""

from __future__ import annotations

import os
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.backends.bpe.normalization import NfcAlignment, normalize
from tokbench.backends.bpe.special import SpecialTokenFinder
from tokbench.backends.bpe.split import split, split_offsets
from tokbench.errors import ConversionError, DecodeError, TextError, UnknownIdError
from tokbench.interfaces import Encoded, TokenizerInfo
from tokbench.tokens import Segmentation, Span, SpecialPolicy, Token, TokenKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import tiktoken
    from numpy.typing import NDArray

    from tokbench.backends.bpe.kernel import Encoder, Kernel
    from tokbench.backends.bpe.reference import Merge
    from tokbench.backends.bpe.split import SplitPattern
    from tokbench.interfaces import TrainingRecord


class BpeTokenizer:
    """A byte-level BPE tokenizer: lossless for every text, unless its pattern normalises.

    Attributes:
        pattern: the split pattern.
        merges: the learned merges in order; None for one that was made from ranks alone.
        config: the options it was trained with, as plain data.
        training: what its training saw and did; None for one that was opened.
        fingerprint: identifies the text it was trained on, read once more; None where that cannot be.
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
        fingerprint: Callable[[], str] | None = None,
    ) -> None:
        self.pattern = pattern
        self.merges = merges
        self.config = dict(config or {})
        self.training = training
        self.fingerprint = fingerprint
        self._encoder = encoder
        self._kernel = kernel
        self._num_ordinary = len(encoder)
        self._specials = dict(special_tokens)
        self._special_of_id = {id: text.encode() for text, id in self._specials.items()}
        self._finder = SpecialTokenFinder(self._specials)
        self.info = TokenizerInfo(
            name=name,
            backend="bpe",
            vocab_size=max([self._num_ordinary - 1, *self._specials.values()]) + 1,
            special_tokens=self._specials,
            lossless=pattern.normalization is None,
            kernel=kernel.name,
        )

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
        """A tokenizer that merges as `tiktoken` does with these tokens, given in the order of their ranks."""
        encoder = kernel.encoder_from_ranks(list(tokens), None if pattern.is_custom else pattern.name)
        return cls(
            name=name, pattern=pattern, encoder=encoder, kernel=kernel, special_tokens=special_tokens or {}
        )

    # --- encoding -----------------------------------------------------------------------------

    def encode(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> list[int]:
        """The ids of a text. Raises `SpecialTokenError` under `SpecialPolicy.RAISE`, `TextError` for surrogates."""
        if special is SpecialPolicy.TEXT or not self._specials:
            return self._encode_ordinary(text)
        ids: list[int] = []
        for piece in self._finder.cut(text, special=special):
            if piece.is_special:
                ids.append(self._specials[piece.text])
            else:
                ids.extend(self._encode_ordinary(piece.text))
        return ids

    def encode_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> Encoded:
        """The ids of many texts in arrays, on `threads` threads (None: one a processor), whatever their number.

        Raises:
            SpecialTokenError: a text holds one under `SpecialPolicy.RAISE`.
            TextError: a text holds a lone surrogate.
        """
        if special is SpecialPolicy.TEXT and not self.pattern.is_custom:
            prepared = [normalize(text, self.pattern.normalization) for text in texts]
            try:
                ids, offsets = self._encoder.encode_batch(prepared, threads or os.cpu_count() or 1)
            except UnicodeEncodeError as error:
                raise _surrogate(error) from None
            return Encoded(ids=ids, offsets=offsets)
        encoded = [self.encode(text, special=special) for text in texts]
        offsets = np.fromiter(accumulate(map(len, encoded), initial=0), np.int64, len(encoded) + 1)
        flat = np.fromiter((id for ids in encoded for id in ids), np.uint32, int(offsets[-1]))
        return Encoded(ids=flat, offsets=offsets)

    def segment(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> Segmentation:
        """The tokens of a text with their bytes and places; its ids are those of `encode`."""
        tokens: list[Token] = []
        position = 0
        for piece in self._finder.cut(text, special=special):
            size = len(_utf8(piece.text))
            if piece.is_special:
                span = Span(position, position + size)
                tokens.append(Token(self._specials[piece.text], piece.text.encode(), span, TokenKind.SPECIAL))
            else:
                tokens.extend(self._segment_ordinary(piece.text, offset=position))
            position += size
        return Segmentation(text=text, tokens=tuple(tokens))

    def pretokens(self, text: str) -> list[str]:
        """The pre-tokens of a text; together they are the text (its normalised form, where the pattern normalises)."""
        _utf8(text)
        prepared = normalize(text, self.pattern.normalization)
        if self.pattern.is_custom:
            return split(self.pattern, prepared)
        data = prepared.encode()
        ends = self._kernel.split(self.pattern.name, data).tolist()
        return [data[start:end].decode() for start, end in pairwise([0, *ends])]

    def _encode_ordinary(self, text: str) -> list[int]:
        prepared = normalize(text, self.pattern.normalization)
        try:
            if self.pattern.is_custom:
                ids: list[int] = self._encoder.encode_split(
                    prepared, split_offsets(self.pattern, prepared)
                ).tolist()
                return ids
            return self._encoder.encode(prepared)
        except UnicodeEncodeError as error:
            raise _surrogate(error) from None

    def _segment_ordinary(self, text: str, *, offset: int) -> list[Token]:
        prepared = normalize(text, self.pattern.normalization)
        alignment = None if prepared == text else NfcAlignment(text)
        tokens, start = [], 0
        for id in self._encode_ordinary(text):
            piece = self._tokens[id]
            span = Span(start, start + len(piece))
            start = span.stop
            if alignment is not None:
                span = alignment.original(span)
            tokens.append(Token(id, piece, Span(span.start + offset, span.stop + offset), TokenKind.NORMAL))
        return tokens

    # --- decoding -----------------------------------------------------------------------------

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """The bytes of ids. Raises `UnknownIdError`."""
        array = self._checked(ids)
        specials = np.flatnonzero(array >= self._num_ordinary).tolist()
        parts, start = [], 0
        for position in specials:
            parts.append(self._decode_ordinary(array[start:position]))
            parts.append(self._special_of_id[int(array[position])])
            start = position + 1
        parts.append(self._decode_ordinary(array[start:]))
        return b"".join(parts)

    def decode(self, ids: Sequence[int], *, errors: str = "replace") -> str:
        """The text of ids; incomplete characters become U+FFFD, or `DecodeError` under errors="strict"."""
        data = self.decode_bytes(ids)
        try:
            return data.decode(errors=errors)
        except UnicodeDecodeError as error:
            raise DecodeError(
                f"the ids do not make whole characters: byte {error.start} (0x{data[error.start]:02X}) of their text",
                hint='errors="replace" (--errors replace) writes U+FFFD for what is incomplete',
            ) from None

    def token_bytes(self, id: int) -> bytes:
        """The bytes of one entry. Raises `UnknownIdError`."""
        if 0 <= id < self._num_ordinary:
            return self._tokens[id]
        if id in self._special_of_id:
            return self._special_of_id[id]
        raise UnknownIdError(id, 0, self.info.vocab_size)

    def token_id(self, piece: bytes) -> int | None:
        """The id of an entry, or None; special tokens are found by the bytes of their text."""
        return self._ids.get(piece)

    def _checked(self, ids: Sequence[int]) -> NDArray[np.int64]:
        try:
            array = np.asarray(ids, dtype=np.int64).reshape(-1)
        except OverflowError:
            position = next(i for i, id in enumerate(ids) if not -(2**63) <= id < 2**63)
            raise UnknownIdError(ids[position], position, self.info.vocab_size) from None
        known = (array >= 0) & (array < self._num_ordinary) | np.isin(array, list(self._special_of_id))
        if not known.all():
            position = int(np.argmin(known))
            raise UnknownIdError(int(array[position]), position, self.info.vocab_size)
        return array

    def _decode_ordinary(self, ids: NDArray[np.int64]) -> bytes:
        return self._encoder.decode(ids.astype(np.uint32)) if ids.size else b""

    @cached_property
    def _tokens(self) -> list[bytes]:
        return self._encoder.tokens()

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        specials = {text: id for id, text in self._special_of_id.items()}
        return {token: id for id, token in enumerate(self._tokens)} | specials

    # --- the forms in which others open it ----------------------------------------------------

    def save(self, directory: Path, *, overwrite: bool = False) -> None:
        """Write the folder that `tokbench.load` opens, with files for `tiktoken` and `tokenizers` in it.

        Raises:
            StoreError: the folder exists, or cannot be written.
            ConversionError: it was not trained here, so that its merges are not known.
        """
        from tokbench.backends.bpe.saved import save

        save(self, directory, overwrite=overwrite)

    def to_tiktoken(self) -> tiktoken.Encoding:
        """The same tokenizer as a `tiktoken.Encoding`.

        Raises:
            ConversionError: tiktoken cannot hold it: it does not normalise.
        """
        from tokbench.formats.tiktoken import to_encoding

        if self.pattern.normalization is not None:
            raise ConversionError(
                f"the pattern {self.pattern.name!r} brings text to {self.pattern.normalization.upper()} first, "
                "and tiktoken has no normaliser",
                hint="the saved ranks.tiktoken can be used on text that is normalised before",
            )
        return to_encoding(
            self.info.name,
            pattern=self.pattern.regex,
            ranks=[(token, rank) for rank, token in enumerate(self._tokens)],
            special_tokens=self._specials,
        )


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise _surrogate(error) from None


def _surrogate(error: UnicodeEncodeError) -> TextError:
    code_point = ord(error.object[error.start])
    return TextError(
        f"the text has a lone surrogate, U+{code_point:04X}, at character {error.start}: it has no UTF-8 form",
        hint='read the text again with errors="replace", or drop the character',
    )
