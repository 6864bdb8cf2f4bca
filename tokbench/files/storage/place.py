"""What can be done where a file or a folder is, or could be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from io import BufferedReader
    from pathlib import Path
    from typing import Self


@dataclass(frozen=True, slots=True)
class Stored:
    """A file as it is stored.

    Attributes:
        place: where it is.
        size: in bytes.
        version: changes when the file does; of an object store its entity tag.
    """

    place: Place
    size: int
    version: str


class Place(Protocol):
    """Where a file or a folder is, or could be; `str` gives what `place_of` makes the same place of.

    What cannot be read raises `OSError`, after what may pass by itself has been tried some times; what cannot be
    written raises `StoreError`.
    """

    @property
    def name(self) -> str:
        """The last part of its path."""

    @property
    def local(self) -> Path | None:
        """Its path on this machine; None elsewhere."""

    def __truediv__(self, name: str) -> Self:
        """The place of that name, perhaps of several parts, in this folder."""

    def open(self) -> BufferedReader:
        """A file, open for reading; `seek` costs nothing, so parts of it can be read."""

    def stat(self) -> Stored:
        """The size and version of a file. Raises `FileNotFoundError` where there is none, also for a folder."""

    def exists(self) -> bool:
        """Whether a file is there, or a folder with something in it."""

    def files(self) -> list[Stored]:
        """The files in a folder and below it, by path, without hidden ones; none where there is no folder."""

    def put(self, path: Path) -> None:
        """Copy a file of this machine here; readers see all of it or what was here before."""

    def write(self, data: bytes) -> None:
        """Make a file of these bytes; readers see all of it or what was here before."""

    def remove(self) -> None:
        """Delete a file, where there is one."""
