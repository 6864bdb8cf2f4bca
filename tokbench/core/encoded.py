"""The ids of many texts in NumPy arrays, with or without spans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.core.wording import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Batch = tuple[NDArray[np.uint32], NDArray[np.int64]]  # what is in an Encoded, as kernels give it


@dataclass(frozen=True, slots=True)
class Encoded:
    """The ids of many texts in two arrays.

    Attributes:
        ids: uint32[N], the ids of all texts, one after another.
        offsets: int64[len(texts) + 1]; text i has ids[offsets[i]:offsets[i + 1]].
    """

    ids: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    def __repr__(self) -> str:
        """Short: how many there are."""
        return f"<{counted(len(self), 'text')}, {counted(len(self.ids), 'id')}>"

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many ids each text has."""
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
        encoded: the ids, and which of them are whose.
        starts: int64[N], where each token begins: UTF-8 byte offsets into its own text.
        stops: int64[N], where it ends.
        kinds: uint8[N], the number of its kind: 0 NORMAL, 1 BYTE, 2 UNKNOWN, 3 SPECIAL.
    """

    encoded: Encoded
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    kinds: NDArray[np.uint8]

    def __repr__(self) -> str:
        """Short: how many there are."""
        return f"<{counted(len(self.encoded), 'text')}, {counted(len(self.encoded.ids), 'token')} with their places>"
