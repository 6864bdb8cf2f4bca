"""Files of shards that are elsewhere, copied to this machine when they are asked for."""

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
"""That are kept: those of two shards of conversations."""


class Copies:
    """The files of a folder elsewhere; the latest that were asked for are on this machine, as long as this lives.

    Attributes:
        place: the folder.
        folder: where its copies are.
    """

    def __init__(self, place: Place) -> None:
        """Nothing is copied yet."""
        self.place = place
        self.folder = Path(tempfile.mkdtemp(prefix="tokbench-shards-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._kept: dict[str, Path] = {}

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """The files that are there, by their names below the folder → bytes. Raises `StoreError`."""
        try:
            return {str(one.place).removeprefix(f"{self.place}/"): one.size for one in self.place.files()}
        except OSError as error:
            raise StoreError(f"{self.place} cannot be listed: {error.strerror or error}") from error

    def read(self, name: str, *, limit: int) -> bytes:
        """The beginning of a file. Raises OSError where it cannot be read."""
        with (self.place / name).open() as stream:
            return stream.read(limit)

    def path(self, name: str) -> Path:
        """A copy of a file. Who has it mapped keeps it, also when it is not among the latest any more.

        Raises:
            StoreError: it cannot be read, or there is no room for it.
        """
        if name not in self._kept:
            while len(self._kept) >= MOST_COPIES:
                self._drop(next(iter(self._kept)))
            self._kept[name] = self._copied(name)
        self._kept[name] = self._kept.pop(name)  # the latest
        return self._kept[name]

    def _copied(self, name: str) -> Path:
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
        with suppress(OSError):  # Windows keeps what is mapped, until the folder goes
            self._kept.pop(name).unlink()
