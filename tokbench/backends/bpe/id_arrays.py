"""Conversion of the ids that users pass to `decode` into the kernel's array type."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


def id_array(ids: Sequence[int]) -> NDArray[np.uint32] | array[int]:
    """Convert ids to an array for the kernel, of 32-bit integers.

    Raises TypeError, ValueError or OverflowError for invalid ids.
    """
    given: object = ids
    if isinstance(given, list | tuple):
        return array("I", given)
    import numpy as np

    if isinstance(given, np.ndarray) and given.dtype == np.uint32:  # the type that encode_batch returns
        return np.ascontiguousarray(given)
    known = np.asarray(ids)
    if known.dtype.kind not in "iu":  # a cast would drop the fractions of numbers
        raise TypeError(f"ids of type {known.dtype}")
    wide = known.astype(np.int64, copy=False)
    if wide.size and wide.view(np.uint64).max() >= 2**32:  # as uint64, negative ids are large
        raise ValueError("there are no such ids")
    return wide.astype(np.uint32)


def id_sequence(ids: Sequence[int]) -> Sequence[int]:
    """Convert ids of any accepted type to a sequence of Python integers."""
    import numpy as np

    given: object = ids
    return given.tolist() if isinstance(given, np.ndarray) else ids
