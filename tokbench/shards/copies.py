"""Local copies of remote shard files, made on demand."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tokbench.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.files.storage.place import Place

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
                hint="shards elsewhere are read from copies: TMPDIR names a folder with room for some",
            ) from error
        return path

    def _drop(self, name: str) -> None:
        with suppress(OSError):  # Windows cannot delete a mapped file; it goes with the folder
            self._kept.pop(name).unlink()
