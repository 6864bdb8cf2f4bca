"""The parts of shards that an earlier run has finished: read, and checked by the sha256 of their files."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from tokbench.core.wording import counted
from tokbench.errors import ModelFormatError, StoreError
from tokbench.shards.journal import START_AGAIN
from tokbench.shards.layout import INDEX_NAME, MAX_INDEX_BYTES, SCHEMA
from tokbench.shards.parts import Part, part_folder, read_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.core.progress import Progress
    from tokbench.files.storage.place import Place

_DAMAGED = "restore the folder, or encode again with --force; `tokbench shards verify` lists all that differs"


def parts_of_finished(folder: Place) -> list[Part]:
    """Return the parts of a finished folder.

    Raises:
        StoreError: the folder has no parts, or cannot be read.
        ModelFormatError: an index is damaged, or that of a part is missing.
    """

    def read(name: str) -> bytes:
        place = folder / name
        try:
            with place.open() as stream:
                return stream.read(MAX_INDEX_BYTES)
        except FileNotFoundError:
            raise ModelFormatError(str(place), "the index of a part", "no file", hint=_DAMAGED) from None
        except OSError as error:
            raise StoreError(f"{place} cannot be read: {error.strerror or error}") from error

    data = read(INDEX_NAME)
    if f'"{SCHEMA}"'.encode() in data[:256]:
        raise StoreError(
            f"{folder} contains shards that were written without --engine",
            hint=f"leave --engine out; {START_AGAIN}",
        )
    return read_parts(data, path=Path(str(folder / INDEX_NAME)), read=read)


def parts_of_unfinished(folder: Place, count: int) -> list[Part]:
    """Return those of the first `count` parts that exist; parts without a document do not.

    Raises:
        StoreError: an index cannot be read.
        ModelFormatError: an index is damaged.
    """
    parts = []
    for number in range(count):
        place = folder / part_folder(number) / INDEX_NAME
        try:
            with place.open() as stream:
                data = stream.read(MAX_INDEX_BYTES)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreError(f"{place} cannot be read: {error.strerror or error}") from error
        parts.append(Part.of(part_folder(number), data, path=Path(str(place))))
    return parts


def refuse_changed(folder: Place, parts: Sequence[Part], *, progress: Progress) -> None:
    """Raise an error that names the first file of finished parts that differs from their indexes.

    Raises:
        ModelFormatError: a file is missing, or has another size or sha256.
        StoreError: a file cannot be read.
    """
    for _, change in _checked(folder, parts, progress=progress):
        if change is not None:
            raise change


def keep_unchanged(folder: Place, count: int, *, progress: Progress) -> None:
    """Delete those of the first `count` parts of an unfinished run whose files are incomplete or were changed.

    Raises:
        StoreError: a file cannot be read or deleted.
        ModelFormatError: an index is damaged.
    """
    found = parts_of_unfinished(folder, count)
    unchanged = {part.folder for part, change in _checked(folder, found, progress=progress) if change is None}
    for name in map(part_folder, range(count)):
        if name not in unchanged and (folder / name).exists():
            _delete_part(folder / name)


def _delete_part(folder: Place) -> None:
    """Delete the files of a part, its index first, so that an interruption leaves no part that seems complete."""
    (folder / INDEX_NAME).remove()
    for file in folder.files():
        file.place.remove()
    if folder.local is not None and folder.local.is_dir():
        folder.local.rmdir()


def _checked(
    folder: Place, parts: Sequence[Part], *, progress: Progress
) -> Iterator[tuple[Part, ModelFormatError | None]]:
    """Yield each part with the first difference between its files and its index, if there is one."""
    done, total = 0, sum(part.index.tokens for part in parts)
    for part in parts:
        progress("checking", done, total, "tokens")
        yield part, _first_change(folder / part.folder, part)
        done += part.index.tokens


def _first_change(folder: Place, part: Part) -> ModelFormatError | None:
    for shard in part.index.shards:
        sizes = part.index.sizes(shard)
        for name, recorded in shard.sums.items():
            if change := _change(folder / name, size=sizes[name], sha256=recorded):
                expected, found = change
                return ModelFormatError(str(folder / name), expected, found, hint=_DAMAGED)
    return None


def _change(place: Place, *, size: int, sha256: str) -> tuple[str, str] | None:
    """Return what is recorded of a file, and what was found instead; None if they are equal. Raises `StoreError`."""
    try:
        if (found := place.stat().size) != size:
            return counted(size, "byte"), counted(found, "byte")
        with place.open() as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        return counted(size, "byte"), "no file"
    except OSError as error:
        raise StoreError(f"{place} cannot be read: {error.strerror or error}") from error
    return None if digest == sha256 else (f"the sha256 {sha256[:8]}…", f"{digest[:8]}…")
