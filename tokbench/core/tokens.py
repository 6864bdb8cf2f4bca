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
        """Bytes covered."""
        return self.stop - self.start


class TokenKind(Enum):
    """What a token is, by the type in the vocabulary, never by how its text looks."""

    NORMAL = "normal"
    BYTE = "byte"
    """One byte of a character that the vocabulary has no piece for (byte fallback)."""
    UNKNOWN = "unknown"
    SPECIAL = "special"


class SpecialPolicy(StrEnum):
    """What the text of a special token inside ordinary text becomes."""

    TEXT = "text"
    """Ordinary text, tokenized like any other: the default, so that a text never becomes a special token by itself."""
    ENCODE = "encode"
    """The special token's id."""
    RAISE = "raise"
    """A `SpecialTokenError`."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a text: its id, its bytes, where it stands and what kind it is.

    `piece` holds the bytes that the vocabulary has for it; they equal the covered text for a
    lossless tokenizer and may differ from it otherwise (normalization, unknowns).
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
        """Short: the first tokens, each by its id and bytes."""
        shown = ", ".join(f"{token.id} {token.piece!r}" for token in self.tokens[:_SHOWN])
        more = ", …" if len(self.tokens) > _SHOWN else ""
        return f"<{counted(len(self.tokens), 'token')}: {shown}{more}>"

    @property
    def ids(self) -> list[int]:
        """The ids alone, as `Tokenizer.encode` gives them."""
        return [token.id for token in self.tokens]


class ModelInput(NamedTuple):
    """What a model gets of one text, or of two.

    Attributes:
        ids: the tokens, special ones and padding included.
        type_ids: which text each is of, as a template says it.
        attention_mask: 0 for padding, 1 for all others.
    """

    ids: tuple[int, ...]
    type_ids: tuple[int, ...]
    attention_mask: tuple[int, ...]
