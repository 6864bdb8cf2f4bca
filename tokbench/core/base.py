"""The base class of tokenizers, which derives every operation from the segmentation of ordinary text and the tokens.

A backend derives from `SaveableTokenizer` (`store/saveable.py`), or from `BaseTokenizer` if it cannot be saved, and
implements the four abstract methods. It overrides others where it has a faster or more precise implementation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import accumulate
from operator import index
from typing import TYPE_CHECKING

from tokbench.core.argument_types import check_errors, not_a_text
from tokbench.core.capabilities import Decoding
from tokbench.core.convenience import PlainUse
from tokbench.core.guarded import ControlTokenGuard, encode_between
from tokbench.core.special_tokens import SpecialTokenFinder, check_policy
from tokbench.core.tokens import Encoded, Segmentation, Span, SpecialPolicy, Token, TokenKind
from tokbench.errors import DecodeError, TextError, UnknownIdError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tokbench.core.guarded import GuardedTexts
    from tokbench.core.interfaces import TokenizerInfo, TrainingRecord
    from tokbench.core.tokens import ModelInput

_MANY_IDS = 1024
"""The smallest number of ids for which `decode_bytes` builds a table of all tokens."""


class BaseTokenizer(PlainUse, ABC):
    """A tokenizer defined by its segmentation; see `tokbench.core.interfaces.Tokenizer` for the contract.

    Attributes:
        info: name, size and properties.
        training: the record of its training; None for a tokenizer that was opened from a file.
        loading_seconds: the time that opening took; None for a tokenizer that was trained in this process.
    """

    loading_seconds: float | None = None

    def __init__(self, info: TokenizerInfo, *, training: TrainingRecord | None = None) -> None:
        self.info = info
        self.training = training
        self._special_ids = dict(info.special_tokens)
        self._special_bytes = {id: text.encode() for text, id in self._special_ids.items()}
        self._finder = SpecialTokenFinder(self._special_ids)

    @abstractmethod
    def segment_ordinary(self, text: str) -> Iterable[Token]:
        """Segment text, treating special tokens as ordinary text; spans are relative to its beginning."""

    @abstractmethod
    def ordinary_bytes(self, id: int) -> bytes | None:
        """Return the bytes of a token that is not a special token; None if the vocabulary has no such id."""

    @abstractmethod
    def token_id(self, piece: bytes) -> int | None:
        """Return the id of a token, or None; special tokens are looked up by the bytes of their text."""

    @abstractmethod
    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        """Write the folder that `tokbench.load` opens; `write` does most of the work. Raises `StoreError`."""

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode text, treating special tokens as ordinary text."""
        return [token.id for token in self.segment_ordinary(text)]

    def encode(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> list[int]:
        """Encode a text. Raises `SpecialTokenError` under `SpecialPolicy.RAISE`, `TextError` for surrogates."""
        utf8(text)
        ids: list[int] = []
        for piece in self._finder.cut(text, special=special):
            if piece.token is not None:
                ids.append(self._special_ids[piece.token])
            else:
                ids.extend(self.encode_ordinary(piece.text))
        return ids

    def _searches_specials(self, special: SpecialPolicy) -> bool:
        """Whether there are special tokens to find under a policy. Raises `ConfigError` if it is not a policy."""
        if special is SpecialPolicy.TEXT:
            return False
        check_policy(special)
        return bool(self._special_ids)

    def encode_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> Encoded:
        """Encode many texts into arrays; the result does not depend on `threads`.

        Raises:
            SpecialTokenError: a text holds one under `SpecialPolicy.RAISE`.
            TextError: a text holds a lone surrogate.
        """
        import numpy as np

        del threads
        encoded = [self.encode(text, special=special) for text in texts]
        offsets = np.fromiter(accumulate(map(len, encoded), initial=0), np.int64, len(encoded) + 1)
        flat = np.fromiter((id for ids in encoded for id in ids), np.uint32, int(offsets[-1]))
        return Encoded(ids=flat, offsets=offsets)

    def segment(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> Segmentation:
        """Return the tokens of a text with their bytes and spans; their ids equal those of `encode`."""
        utf8(text)
        tokens: list[Token] = []
        offset = 0
        for piece in self._finder.cut(text, special=special):
            size = len(piece.text.encode())
            if piece.token is not None:
                id, span = self._special_ids[piece.token], Span(offset, offset + size)
                tokens.append(Token(id, self._special_bytes[id], span, TokenKind.SPECIAL))
            else:
                tokens.extend(_shifted(token, offset) for token in self.segment_ordinary(piece.text))
            offset += size
        return Segmentation(text=text, tokens=tuple(tokens))

    @property
    def control_tokens(self) -> Mapping[str, int]:
        """The tokens that give a text its structure, text → id: the special tokens."""
        return self._special_ids

    @cached_property
    def _guard(self) -> ControlTokenGuard:
        return ControlTokenGuard(self.control_tokens, flags=self._finder.flags)

    def encode_guarded(
        self,
        texts: Sequence[str],
        trusted: Sequence[Sequence[tuple[int, int]]],
        *,
        threads: int | None = None,
    ) -> GuardedTexts:
        """Encode texts, recognizing control tokens only in trusted ranges; see `tokbench.core.guarded`."""
        for text in texts:
            utf8(text)
        return encode_between(self, texts, trusted, guard=self._guard, threads=threads)

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Decode ids to bytes. Raises `UnknownIdError`."""
        return b"".join(self._pieces_of(ids))

    def decode(self, ids: Sequence[int], *, errors: str = "replace") -> str:
        """Decode ids to text; incomplete characters become U+FFFD, or raise `DecodeError` under errors="strict"."""
        return decoded(self.decode_bytes(ids), errors=errors)

    @property
    def decoding(self) -> Decoding:
        """What the text of a token depends on: nothing, unless a subclass overrides `decode_bytes`."""
        joins = type(self).decode_bytes is BaseTokenizer.decode_bytes
        return Decoding.JOINED if joins else Decoding.WHOLE

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes of one token. Raises `UnknownIdError`."""
        return self._known_bytes(id, 0)

    def _pieces_of(self, ids: Sequence[int]) -> list[bytes]:
        """Return the bytes of each id. Raises `UnknownIdError`."""
        if len(ids) >= _MANY_IDS:
            with suppress(KeyError):  # an unknown id: the loop below finds its position
                return list(map(self._known.__getitem__, map(index, ids)))
        return [self._known_bytes(index(id), position) for position, id in enumerate(ids)]

    @cached_property
    def _known(self) -> dict[int, bytes]:
        """The bytes of every id in the vocabulary."""
        ordinary = (id for id in range(self.info.vocab_size) if id not in self._special_bytes)
        tokens = ((id, self.ordinary_bytes(id)) for id in ordinary)
        return {id: data for id, data in tokens if data is not None} | self._special_bytes

    def _known_bytes(self, id: int, position: int) -> bytes:
        data = self._special_bytes.get(id)
        if data is None and 0 <= id < self.info.vocab_size:
            data = self.ordinary_bytes(id)
        if data is None:
            raise UnknownIdError(id, position, self.info.vocab_size)
        return data


class TakesTemplate(ABC):
    """Methods of a tokenizer that knows a model's template; see `tokbench.core.capabilities.SupportsTemplate`."""

    @abstractmethod
    def input_of_texts(
        self, texts: Sequence[str], *, special: SpecialPolicy, template: bool, limits: bool
    ) -> ModelInput:
        """Return the model input for one text or two; arguments and errors are those of `model_input`."""

    def model_input(
        self,
        text: str,
        pair: str | None = None,
        *,
        special: SpecialPolicy = SpecialPolicy.TEXT,
        template: bool = True,
        limits: bool = True,
    ) -> ModelInput:
        """Return the model input for one text or a pair of texts.

        Args:
            text: the text, or the first of the pair.
            pair: the second text of the pair.
            special: what the text of a special token becomes.
            template: whether to add the special tokens that the tokenizer's file puts around the texts.
            limits: whether to truncate and pad as the tokenizer's file says.

        Raises:
            SpecialTokenError: a text holds one under `SpecialPolicy.RAISE`.
            TextError: a text holds a lone surrogate, or cannot be truncated as the file asks.
        """
        texts = [text] if pair is None else [text, pair]
        return self.input_of_texts(texts, special=special, template=template, limits=limits)

    def with_template(
        self, text: str, pair: str | None = None, *, special: SpecialPolicy = SpecialPolicy.TEXT
    ) -> list[int]:
        """Encode one text or a pair with the tokens that a model expects around it. Raises as `model_input`."""
        return list(self.model_input(text, pair, special=special, limits=False).ids)


def utf8(text: str) -> bytes:
    """Encode a text as UTF-8. Raises `TextError` for a lone surrogate or another type."""
    if not isinstance(text, str):
        raise not_a_text(text)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise surrogate_error(error) from None


@contextmanager
def surrogates_named(texts: Iterable[str]) -> Iterator[None]:
    """Turn a `UnicodeEncodeError` for one of the texts into a `TextError` that names the character."""
    try:
        yield
    except UnicodeEncodeError:
        for text in texts:
            utf8(text)
        raise


def decoded(data: bytes, *, errors: str) -> str:
    """Decode the bytes of ids. Raises `DecodeError` under errors="strict", `ConfigError` for an unknown `errors`."""
    check_errors(errors)
    try:
        return data.decode(errors=errors)
    except UnicodeDecodeError as error:
        raise DecodeError(
            f"the ids do not decode to whole characters: byte {error.start} (0x{data[error.start]:02X}) "
            f"of their text",
            hint='errors="replace" (--errors replace) writes U+FFFD for incomplete characters',
        ) from None


def surrogate_error(error: UnicodeEncodeError) -> TextError:
    """Return the error for a text that cannot be encoded as UTF-8."""
    code_point = ord(error.object[error.start])
    return TextError(
        f"the text has a lone surrogate, U+{code_point:04X}, at character {error.start}: it has no UTF-8 form",
        hint='read the text again with errors="replace", or drop the character',
    )


def _shifted(token: Token, offset: int) -> Token:
    if offset == 0:
        return token
    return Token(token.id, token.piece, Span(token.span.start + offset, token.span.stop + offset), token.kind)
