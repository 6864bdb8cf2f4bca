"""The types that all backends share: spans, tokens, segmentations, and the policy for special tokens."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import NamedTuple

from tokbench.core.notebook import ShownInNotebooks
from tokbench.core.wording import counted

_SHOWN = 8


class Span(NamedTuple):
    """A half-open range of UTF-8 byte offsets into the original text.

    >>> Span(0, 2).length
    2
    """

    start: int
    stop: int

    @property
    def length(self) -> int:
        """The number of bytes covered."""
        return self.stop - self.start


class TokenKind(Enum):
    """The kind of a token, by its type in the vocabulary, never by its text."""

    NORMAL = "normal"
    BYTE = "byte"
    """One byte of a character that is not in the vocabulary (byte fallback)."""
    UNKNOWN = "unknown"
    SPECIAL = "special"


class SpecialPolicy(StrEnum):
    """What the text of a special token inside ordinary text becomes."""

    TEXT = "text"
    """Ordinary text, tokenized like any other: the default, so that text never becomes a special token by accident."""
    ENCODE = "encode"
    """The special token's id."""
    RAISE = "raise"
    """A `SpecialTokenError`."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a text: id, bytes, span and kind.

    `piece` holds the bytes of the token in the vocabulary; for a lossless tokenizer they equal the covered text, and
    otherwise they may differ from it (normalization, unknown tokens).
    """

    id: int
    piece: bytes
    span: Span
    kind: TokenKind


@dataclass(frozen=True, slots=True)
class Segmentation(ShownInNotebooks):
    """A text and its tokens, in order."""

    text: str
    tokens: tuple[Token, ...]

    def __repr__(self) -> str:
        """Return a short form: the first tokens, each by its id and bytes."""
        shown = ", ".join(f"{token.id} {token.piece!r}" for token in self.tokens[:_SHOWN])
        more = ", …" if len(self.tokens) > _SHOWN else ""
        return f"<{counted(len(self.tokens), 'token')}: {shown}{more}>"

    @property
    def ids(self) -> list[int]:
        """The ids, as `Tokenizer.encode` returns them."""
        return [token.id for token in self.tokens]


@dataclass(frozen=True, slots=True)
class ScoredSegmentation:
    """A segmentation of a text, with its log probability as the score."""

    segmentation: Segmentation
    score: float


class ModelInput(NamedTuple):
    """The model input of one text or two.

    Attributes:
        ids: the tokens, including special tokens and padding.
        type_ids: for each token the type id that the template assigns, which tells two texts apart.
        attention_mask: 0 for padding, 1 for every other token.
    """

    ids: tuple[int, ...]
    type_ids: tuple[int, ...]
    attention_mask: tuple[int, ...]
