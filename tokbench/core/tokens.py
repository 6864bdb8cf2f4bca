"""The types that all backends share: spans, tokens, segmentations, ids in arrays, the policy for special tokens."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum, StrEnum
from operator import index as as_index
from typing import TYPE_CHECKING, NamedTuple

from tokbench.core.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import SupportsIndex

    import numpy as np
    from numpy.typing import NDArray

    Batch = tuple[NDArray[np.uint32], NDArray[np.int64]]  # the fields of an Encoded, as kernels return them


class ShownInNotebooks:
    """A result that `tokbench.as_html` can render; notebooks call `_repr_html_`."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        import tokbench  # its lazy public names: render/ stands above core/

        return tokbench.as_html(self)


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
    tokens: Sequence[Token]

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


class EqualArrays:
    """A dataclass with arrays, equal to another one if all fields are equal, element by element.

    Derived classes leave out the comparison of `dataclass`, for which arrays have no truth value.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        import numpy as np

        if type(other) is not type(self):
            return NotImplemented
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))  # type: ignore[arg-type]
        return all(
            np.array_equal(one, two) if isinstance(one, np.ndarray) else one == two for one, two in pairs
        )


@dataclass(frozen=True, slots=True, eq=False)
class Encoded(EqualArrays):
    """The ids of many texts in two arrays; iterating over it yields those of each text.

    Attributes:
        ids: uint32[N], the ids of all texts, concatenated.
        offsets: int64[len(texts) + 1]; text i has ids[offsets[i]:offsets[i + 1]].
    """

    ids: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    def __repr__(self) -> str:
        """Return a short form: the numbers of texts and ids."""
        return f"<{counted(len(self), 'text')}, {counted(len(self.ids), 'id')}>"

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of ids of each text."""
        return self.offsets[1:] - self.offsets[:-1]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: SupportsIndex) -> NDArray[np.uint32]:
        index = as_index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"text {index} of {len(self)}")
        index %= len(self)
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[NDArray[np.uint32]]:
        return (self[index] for index in range(len(self)))


@dataclass(frozen=True, slots=True)
class EncodedSpans:
    """The tokens of many texts in arrays, with their spans.

    Attributes:
        encoded: the ids, and the offsets that assign them to texts.
        starts: int64[N], the start of each token, a UTF-8 byte offset into its own text.
        stops: int64[N], the stop of each token.
        kinds: uint8[N], the number of its kind: 0 NORMAL, 1 BYTE, 2 UNKNOWN, 3 SPECIAL.
    """

    encoded: Encoded
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    kinds: NDArray[np.uint8]

    def __repr__(self) -> str:
        """Return a short form: the numbers of texts and tokens."""
        return f"<{counted(len(self.encoded), 'text')}, {counted(len(self.encoded.ids), 'token')} with their places>"
