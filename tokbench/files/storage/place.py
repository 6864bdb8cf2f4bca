"""Places: locations of files and folders, which may not exist; those on this machine, or that machines share."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from tokbench.errors import StoreError
from tokbench.files.atomic import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored file.

    Attributes:
        place: its location.
        size: its size in bytes.
        version: a value that changes when the file does; for an object store its entity tag.
    """

    place: Place
    size: int
    version: str


class Place(Protocol):
    """The location of a file or folder, which may not exist; `place_of(str(place))` returns the same place.

    Failed reads raise `OSError`, after temporary errors have been retried a few times; failed writes raise
    `StoreError`.
    """

    @property
    def name(self) -> str:
        """The last component of its path."""

    @property
    def local(self) -> Path | None:
        """Its path on this machine; None for a remote place."""

    def __truediv__(self, name: str) -> Self:
        """Return the place of that name, which may have several components, in this folder."""

    def open(self) -> BufferedReader:
        """Open the file for reading; `seek` is cheap, so that parts of it can be read."""

    def stat(self) -> Stored:
        """Return the size and version of a file. Raises `FileNotFoundError` if it is missing or a folder."""

    def exists(self) -> bool:
        """Whether a file exists here, or a folder that is not empty."""

    def files(self) -> list[Stored]:
        """Return the files in the folder and below it, sorted by path, without hidden ones; [] for a missing folder."""

    def put(self, path: Path) -> None:
        """Copy a local file here; readers see the old or the new file, never a part."""

    def write(self, data: bytes) -> None:
        """Write the bytes to a file here; readers see the old or the new file, never a part."""

    def remove(self) -> None:
        """Delete the file, if it exists."""


@dataclass(frozen=True, slots=True)
class LocalPlace:
    """A local path; see `Place`."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        """See `Place`."""
        return self.path.name

    @property
    def local(self) -> Path:
        """See `Place`."""
        return self.path

    def __truediv__(self, name: str) -> Self:
        return type(self)(self.path / name)

    def open(self) -> BufferedReader:
        """See `Place`."""
        return self.path.open("rb")

    def stat(self) -> Stored:
        """See `Place`."""
        status = self.path.stat()
        if self.path.is_dir():
            raise FileNotFoundError(errno.ENOENT, "a folder, not a file", str(self.path))
        return Stored(self, status.st_size, str(status.st_mtime_ns))

    def exists(self) -> bool:
        """See `Place`."""
        return self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir()))

    def files(self) -> list[Stored]:
        """See `Place`."""
        found = (type(self)(path)._listed() for path in sorted(_files_below(self.path)))
        return [stored for stored in found if stored is not None]

    def _listed(self) -> Stored | None:
        """Return a file of a listing, also a link that leads nowhere; None if it is gone meanwhile."""
        try:
            return self.stat()
        except OSError:
            try:
                status = self.path.lstat()
            except FileNotFoundError:
                return None
            return Stored(self, status.st_size, str(status.st_mtime_ns))

    def put(self, path: Path) -> None:
        """See `Place`."""
        target = Path(os.path.realpath(self.path))
        staging = target.with_name(f".{target.name[:40]}.tmp-{secrets.token_hex(6)}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with path.open("rb") as source, staging.open("xb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
                copy.flush()
                os.fsync(copy.fileno())
            staging.replace(target)
        except OSError as error:
            raise StoreError(
                f"{self} was not written: {error.strerror or error}; nothing was changed",
                hint="free some space there, or write to another place",
            ) from error
        finally:
            with suppress(OSError):
                staging.unlink()

    def write(self, data: bytes) -> None:
        """See `Place`."""
        write_file(self.path, data)

    def remove(self) -> None:
        """See `Place`."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{self} was not deleted: {error.strerror or error}") from error


def _files_below(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if path.name.startswith("."):
            continue
        if path.is_dir():
            yield from _files_below(path)
        else:
            yield path
