"""The ids of many texts in NumPy arrays, with or without spans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.core.wording import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Batch = tuple[NDArray[np.uint32], NDArray[np.int64]]  # the fields of an Encoded, as kernels return them


@dataclass(frozen=True, slots=True)
class Encoded:
    """The ids of many texts in two arrays.

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

    def __getitem__(self, index: int) -> NDArray[np.uint32]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"text {index} of {len(self)}")
        index %= len(self)
        return self.ids[self.offsets[index] : self.offsets[index + 1]]


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
