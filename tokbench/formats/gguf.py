"""GGUF: the metadata at the head of a model file, which includes the tokenizer.

Layout: magic "GGUF", version u32, number of tensors u64, number of entries u64, then the entries: a key (length u64,
UTF-8), a type u32, a value. An array is an element type u32, a length u64, and the elements. Everything is
little-endian. The tensors that follow are never read, and every length is checked against the remaining bytes before it
is used.
"""

from __future__ import annotations

import mmap
import struct
from typing import TYPE_CHECKING, Any

from tokbench.errors import ModelFormatError, StoreError

if TYPE_CHECKING:
    from pathlib import Path

MAGIC = b"GGUF"

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_VERSIONS = (2, 3)
_MAX_ENTRIES = 1 << 16
_MAX_KEY_BYTES = 1 << 16
_MAX_ELEMENTS = 1 << 24
_MAX_DEPTH = 2
_MAX_INNER_ARRAYS = 1 << 16
"""Arrays within arrays in a file: no known file has any, and each is read by itself."""


def read_metadata(path: Path, *, prefix: str = "tokenizer.") -> dict[str, Any]:
    """Return the entries whose key begins with `prefix`; the others are skipped.

    Args:
        path: the file; however large it is, only its head is read.
        prefix: the prefix of the wanted keys.

    Returns:
        Key → number, string, or list of these; strings are `bytes`, as a token need not be UTF-8.

    Raises:
        ModelFormatError: the file is not GGUF, or has invalid lengths.
        StoreError: the file cannot be read.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Reader(data, path).entries(prefix)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError:  # an empty file cannot be mapped
        raise ModelFormatError(path, "a GGUF file", "an empty file") from None


class _Reader:
    """Reads values sequentially, checking bounds."""

    def __init__(self, data: mmap.mmap, path: Path) -> None:
        self._data = data
        self._path = path
        self._position = 0
        self._inner_arrays = 0

    def entries(self, prefix: str) -> dict[str, Any]:
        if self._take(4) != MAGIC:
            raise self._wrong("the magic GGUF", "other bytes")
        version = self._number("I")
        if version not in _VERSIONS:
            raise self._wrong("version 2 or 3, little-endian", f"version {version}")
        self._number("Q")  # tensors
        count = self._number("Q")
        if count > _MAX_ENTRIES:
            raise self._wrong(f"at most {_MAX_ENTRIES} entries", str(count))
        entries: dict[str, Any] = {}
        for _ in range(count):
            key = self._string(limit=_MAX_KEY_BYTES).decode(errors="backslashreplace")
            value = self._value(self._number("I"), wanted=key.startswith(prefix))
            if key in entries:
                raise self._wrong("each key once", f"{key!r} again")
            if key.startswith(prefix):
                entries[key] = value
        return entries

    def _value(self, kind: int, *, wanted: bool, depth: int = 0) -> Any:
        if kind == _STRING:
            return self._string(limit=self._left)
        if kind == _ARRAY and depth < _MAX_DEPTH:
            return self._array(wanted=wanted, depth=depth)
        if kind not in _SCALARS:
            raise self._wrong("a type of value between 0 and 12", str(kind))
        return self._number(_SCALARS[kind])

    def _array(self, *, wanted: bool, depth: int) -> list[Any]:
        kind, length = self._number("I"), self._number("Q")
        smallest = struct.calcsize(_SCALARS[kind]) if kind in _SCALARS else 8
        if length > _MAX_ELEMENTS or length * smallest > self._left:
            raise self._wrong("an array that fits into the file", f"{length:,} elements")
        if kind in _SCALARS:
            code = _SCALARS[kind]
            block = self._take(length * smallest)
            return list(struct.unpack(f"<{length}{code}", block)) if wanted else []
        if kind == _STRING:
            strings = self._strings(length)
            return strings if wanted else []
        self._inner_arrays += length
        if self._inner_arrays > _MAX_INNER_ARRAYS:
            raise self._wrong(f"at most {_MAX_INNER_ARRAYS:,} arrays within arrays", f"{length:,}")
        values = [self._value(kind, wanted=wanted, depth=depth + 1) for _ in range(length)]
        return values if wanted else []

    def _strings(self, count: int) -> list[bytes]:
        """Read strings one after another, of which a vocabulary has a million."""
        data, position, end = self._data, self._position, len(self._data)
        read_length = struct.Struct("<Q").unpack_from
        strings: list[bytes] = []
        for _ in range(count):
            start = position + 8
            if start > end or (stop := start + read_length(data, position)[0]) > end:
                self._position = position
                strings.append(self._string(limit=self._left))  # raises
                break
            strings.append(data[start:stop])
            position = stop
        self._position = position
        return strings

    def _string(self, *, limit: int) -> bytes:
        length = self._number("Q")
        if length > limit or length > self._left:
            raise self._wrong("a string that fits into the file", f"{length:,} bytes")
        return self._take(length)

    def _number(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self._take(struct.calcsize(code)))[0]

    def _take(self, size: int) -> bytes:
        if size > self._left:
            raise self._wrong(f"{size} more bytes", f"the end of the file after {self._left}")
        self._position += size
        return self._data[self._position - size : self._position]

    @property
    def _left(self) -> int:
        return len(self._data) - self._position

    def _wrong(self, expected: str, found: str) -> ModelFormatError:
        return ModelFormatError(f"{self._path}, byte {self._position}", expected, found)
