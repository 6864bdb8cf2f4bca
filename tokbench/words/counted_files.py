"""The identity of the files whose words were counted: independent of their names, order and times."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from tokbench.core.wording import counted
from tokbench.corpus.file_samples import sample_of
from tokbench.corpus.paths import unreadable
from tokbench.files.storage.open import place_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.core.json_fields import Fields
    from tokbench.distributed.corpus_plan import PlannedFile

_SUMS = 1 << 256


@dataclass(frozen=True, slots=True)
class CountedFiles:
    """Files, by a hash of each; those of several counts can be added.

    Attributes:
        files: the number of files.
        num_bytes: their size in bytes on disk.
        identity: the sum of their hashes, modulo 2**256, in hexadecimal.
    """

    files: int
    num_bytes: int
    identity: str

    @classmethod
    def of(cls, planned: Iterable[PlannedFile]) -> Self:
        """Identify the files of a plan, by a sample of each, or by the version of a remote one.

        Raises `CorpusError` if a file cannot be read.
        """
        files = tuple(planned)
        total = sum(int.from_bytes(_hash_of(file)) for file in files)
        return cls(len(files), sum(file.size for file in files), _hexadecimal(total))

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Read the JSON of `to_json`. Raises `ModelFormatError`."""
        return cls(fields.count("files"), fields.count("bytes"), fields.sha256("identity"))

    def __add__(self, other: CountedFiles) -> CountedFiles:
        total = int(self.identity, 16) + int(other.identity, 16)
        return CountedFiles(self.files + other.files, self.num_bytes + other.num_bytes, _hexadecimal(total))

    def __str__(self) -> str:
        return f"{counted(self.files, 'file')} of {counted(self.num_bytes, 'byte')}"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that `words.json` contains."""
        return {"files": self.files, "bytes": self.num_bytes, "identity": self.identity}


def _hash_of(file: PlannedFile) -> bytes:
    place = place_of(file.address)
    if place.local is None:  # reading samples over a network would take long
        contents = f"{file.size}:{file.version}"
    else:
        try:
            with place.open() as stream:
                contents = sample_of(stream, file.size)
        except OSError as error:
            raise unreadable(file.name, error) from error
    return hashlib.sha256(f"{file.kind} {file.compression} {contents}".encode()).digest()


def _hexadecimal(total: int) -> str:
    return f"{total % _SUMS:064x}"
