"""`merges.npy`, the merges of a saved tokenizer: int64[n, 3], left id, right id and count of each, in order.

NumPy opens such a file, and is not needed for it here: to import it takes longer than everything
else that is done to open a tokenizer.
"""

from __future__ import annotations

import sys
from array import array
from typing import TYPE_CHECKING

from tokbench.backends.bpe.reference import NUM_BYTES, Merge
from tokbench.errors import ModelFormatError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

MERGES_NAME = "merges.npy"

_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER_BYTES = 128  # whatever the shape: NumPy leaves room for its numbers and fills up with spaces
_ROW_BYTES = 24
_MAX_TOKEN_BYTES = 2**30  # of all tokens together
_RETRAIN = "the folder is damaged: restore it, or train again"


def dump_merges(merges: Sequence[Merge]) -> bytes:
    """The file, byte for byte as NumPy writes it."""
    values = array("q", [number for merge in merges for number in merge])
    return _header(len(merges)) + _little_endian(values).tobytes()


def parse_merges(data: bytes | memoryview, *, path: Path) -> tuple[Merge, ...]:
    """The merges of the file. Raises `ModelFormatError`."""
    rows, rest = divmod(max(len(data) - _HEADER_BYTES, 0), _ROW_BYTES)
    if rest or bytes(data[:_HEADER_BYTES]) != _header(rows):
        found = f"{len(data)} bytes that begin {bytes(data[:_HEADER_BYTES])!r}"
        raise ModelFormatError(path, "int64[n, 3] as NumPy writes it", found, hint=_RETRAIN)
    values = array("q")
    values.frombytes(data[_HEADER_BYTES:])
    numbers = _little_endian(values).tolist()
    merges = tuple(map(Merge, numbers[0::3], numbers[1::3], numbers[2::3]))
    _check(merges, path=path)
    return merges


def pairs_of(merges: Sequence[Merge]) -> memoryview | NDArray[np.uint32]:
    """The pairs as uint32[n, 2], in a form that the kernels read like an array."""
    if not merges:  # no view has two dimensions and nothing in them
        import numpy as np

        return np.empty((0, 2), np.uint32)
    pairs = array("I", [id for left, right, _ in merges for id in (left, right)])
    return memoryview(pairs).cast("B").cast("I", (len(merges), 2))


def _check(merges: Sequence[Merge], *, path: Path) -> None:
    """Hold each merge to those before it.

    One may double the last one's token: a few rows could ask for more memory than there is.
    """
    sizes = [1] * NUM_BYTES
    total = 0
    for made, (left, right, count) in enumerate(merges, NUM_BYTES):
        if not (0 <= left < made and 0 <= right < made and count > 0):
            raise ModelFormatError(path, "merges of ids made before, with counts", "others", hint=_RETRAIN)
        size = sizes[left] + sizes[right]
        sizes.append(size)
        total += size
        if total > _MAX_TOKEN_BYTES:
            raise ModelFormatError(path, f"tokens of {_MAX_TOKEN_BYTES} bytes at most", "more", hint=_RETRAIN)


def _header(rows: int) -> bytes:
    said = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({rows}, 3), }}".encode()
    before = _MAGIC + (_HEADER_BYTES - len(_MAGIC) - 2).to_bytes(2, "little") + said
    return before.ljust(_HEADER_BYTES - 1) + b"\n"


def _little_endian(values: array[int]) -> array[int]:
    if sys.byteorder == "big":
        values.byteswap()
    return values
