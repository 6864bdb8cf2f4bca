"""The ids of many texts in NumPy arrays, with or without spans."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import index as as_index
from typing import TYPE_CHECKING

from tokbench.core.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import SupportsIndex

    import numpy as np
    from numpy.typing import NDArray

    Batch = tuple[NDArray[np.uint32], NDArray[np.int64]]  # the fields of an Encoded, as kernels return them


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
