"""The interface of places: the locations of files and folders, which may not exist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from io import BufferedReader
    from pathlib import Path
    from typing import Self


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
