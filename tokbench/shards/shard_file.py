"""One file of a shard: writing it, and local copies of remote ones, made on demand."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from tokbench.errors import StoreError
from tokbench.files.untrusted import open_regular
from tokbench.shards.layout import ShardEntry, npy_header, shard_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tokbench.files.storage.place import Place
    from tokbench.shards.plan import Plan


class ShardFile:
    """A shard that is being written: under a temporary name until it is complete and on disk."""

    def __init__(self, folder: Path, plan: Plan, number: int) -> None:
        self._folder = folder
        self._plan = plan
        self._name = shard_name(number, plan.format)
        self._staging = folder / f"{self._name}.tmp"
        self._stream = self._staging.open("w+b")
        if plan.format == "npy":
            self._stream.write(npy_header(plan.dtype, 0))
        self._ends: list[NDArray[np.int64]] = []
        self._mask = bytearray() if plan.options.chat is not None else None
        self._text_bytes = 0
        self.tokens = 0

    def add(
        self,
        ids: NDArray[Any],
        ends: NDArray[np.int64],
        text_bytes: int,
        *,
        mask: NDArray[np.uint8] | None = None,
    ) -> None:
        """Append documents; each ends at one of `ends`. `mask` is 1 for ids that are trained on."""
        if self._mask is not None and mask is not None:
            self._mask += mask.tobytes()
        self._stream.write(np.ascontiguousarray(ids, dtype=ids.dtype.newbyteorder("<")).data)
        self._ends.append(ends + self.tokens)
        self._text_bytes += text_bytes
        self.tokens += len(ids)

    def fill_row(self, length: int, *, pad: int) -> None:
        """Pad the last row to `length` ids; the padding belongs to the last document, and is not trained on."""
        missing = -self.tokens % length
        if missing:
            ids = np.full(missing, pad, self._plan.dtype)
            self._stream.write(np.ascontiguousarray(ids, dtype=ids.dtype.newbyteorder("<")).data)
            self._ends[-1][-1] += missing
            self.tokens += missing
            if self._mask is not None:
                self._mask += bytes(missing)

    def finish(self) -> ShardEntry:
        """Flush the shard and its offsets to disk, and rename them; return its entry."""
        offsets = np.concatenate([np.zeros(1, np.int64), *self._ends]).astype("<i8")
        if self._plan.format == "npy":
            self._stream.seek(0)
            self._stream.write(npy_header(self._plan.dtype, self.tokens))
        sha256 = _sync(self._stream)
        entry = ShardEntry(
            file=self._name,
            tokens=self.tokens,
            documents=len(offsets) - 1,
            text_bytes=self._text_bytes,
            sha256=sha256,
            offsets="",
        )
        staging = self._folder / f"{entry.offsets_file}.tmp"
        with staging.open("w+b") as stream:
            stream.write(npy_header("int64", len(offsets)))
            stream.write(offsets.data)
            sha256 = _sync(stream)
        mask = self._written_mask(entry)
        staging.replace(self._folder / entry.offsets_file)
        self._stream.close()
        self._staging.replace(self._folder / self._name)
        return replace(entry, offsets=sha256, mask=mask)

    def _written_mask(self, entry: ShardEntry) -> str | None:
        """Write the mask to disk; return its sha256."""
        if self._mask is None:
            return None
        staging = self._folder / f"{entry.mask_file}.tmp"
        with staging.open("w+b") as stream:
            stream.write(npy_header("uint8", len(self._mask)))
            stream.write(self._mask)
            sha256 = _sync(stream)
        staging.replace(self._folder / entry.mask_file)
        return sha256

    def discard(self) -> None:
        """Delete all temporary files of the shard."""
        with suppress(OSError):
            self._stream.close()
        for path in self._folder.glob(f"{self._name.partition('.')[0]}.*.tmp"):
            with suppress(OSError):
                path.unlink()


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file. Raises `ModelFormatError` for a file that is not regular, `OSError`."""
    with open_regular(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sync(stream: BinaryIO) -> str:
    """Flush a file to disk; return its sha256."""
    stream.flush()
    stream.seek(0)
    digest = hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]
    os.fsync(stream.fileno())
    return digest


MOST_COPIES = 6
"""The most copies to keep: the files of two shards of conversations."""


class Copies:
    """The files of a remote folder; local copies of the most recently used ones are kept as long as this object lives.

    Attributes:
        place: the remote folder.
        folder: the local folder of the copies.
    """

    def __init__(self, place: Place) -> None:
        """Start without copies."""
        self.place = place
        self.folder = Path(tempfile.mkdtemp(prefix="tokbench-shards-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._kept: dict[str, Path] = {}

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """The files in the folder, by relative name → bytes. Raises `StoreError`."""
        try:
            return {str(file.place).removeprefix(f"{self.place}/"): file.size for file in self.place.files()}
        except OSError as error:
            raise StoreError(f"{self.place} cannot be listed: {error.strerror or error}") from error

    def read(self, name: str, *, limit: int) -> bytes:
        """Return the beginning of a file. Raises OSError if it cannot be read."""
        with (self.place / name).open() as stream:
            return stream.read(limit)

    def path(self, name: str) -> Path:
        """Return a copy of a file. A mapped copy stays readable after it has been dropped from the cache.

        Raises:
            StoreError: the file cannot be read, or there is no room for it.
        """
        if name not in self._kept:
            while len(self._kept) >= MOST_COPIES:
                self._drop(next(iter(self._kept)))
            self._kept[name] = self._copy(name)
        self._kept[name] = self._kept.pop(name)  # now the most recently used
        return self._kept[name]

    def _copy(self, name: str) -> Path:
        path = self.folder / name
        try:
            path.parent.mkdir(exist_ok=True)
            with (self.place / name).open() as stream, path.open("wb") as file:
                shutil.copyfileobj(stream, file, 8 << 20)
        except OSError as error:
            raise StoreError(
                f"{self.place / name} cannot be copied to {self.folder}: {error.strerror or error}",
                hint="shards elsewhere are read from copies: set TMPDIR to a folder with enough space",
            ) from error
        return path

    def _drop(self, name: str) -> None:
        with suppress(OSError):  # Windows cannot delete a mapped file; it goes with the folder
            self._kept.pop(name).unlink()
