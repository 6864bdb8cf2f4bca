"""Saved tokenizers: a folder with a manifest, the backend's files and their checksums.

Backends pass their files and a `Manifest` to `write`, and get both back from `read_manifest` and `read_files`; only
they know the meaning of the files. A folder is written atomically, and reading returns what was written or raises an
error.
"""

from __future__ import annotations

import filecmp
import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tokbench.core.manifest import Manifest, SelfTestSample
from tokbench.core.wording import first_of
from tokbench.errors import ModelFormatError, StoreError, TokbenchError
from tokbench.files.atomic import write_folder
from tokbench.store.manifest import FORMAT_VERSION, MANIFEST_NAME, dump_manifest, is_file_name, parse_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "FORMAT_VERSION",
    "MANIFEST_NAME",
    "Manifest",
    "SavedTokenizer",
    "SelfTestSample",
    "check_place",
    "contain_the_same",
    "is_saved_tokenizer",
    "map_files",
    "read_files",
    "read_manifest",
    "saved_tokenizers",
    "write",
]

_MAX_MANIFEST_BYTES = 64 * 2**20
_MAX_FILE_BYTES = 4 * 2**30
_DESKTOP_FILES = {".DS_Store", "Thumbs.db", "desktop.ini"}  # created by file managers
_HASH_DIGITS_SHOWN = 8

_Contents = TypeVar("_Contents", bytes, memoryview)


@dataclass(frozen=True, slots=True)
class SavedTokenizer:
    """A folder that contains a saved tokenizer, readable or not.

    Attributes:
        directory: the folder.
        manifest: its manifest, or None if it cannot be read.
        error: the reason why it cannot be read, or None.
        num_bytes: the size of its files.
    """

    directory: Path
    manifest: Manifest | None
    error: TokbenchError | None
    num_bytes: int


def write(
    directory: Path, *, manifest: Manifest, files: Mapping[str, bytes], overwrite: bool = False
) -> None:
    """Save a tokenizer atomically.

    Args:
        directory: the folder to create; missing parents are created, too.
        manifest: the tokenizer's manifest; its `files` are set here.
        files: plain file name → contents.
        overwrite: whether to replace an existing folder; only a saved tokenizer or an empty folder is replaced.

    Raises:
        StoreError: the folder exists, contains other files, or cannot be written.
        ModelFormatError: the manifest is inconsistent (an id that is not below `vocab_size`).
        ValueError: a name in `files` is not a plain file name.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "mine"
    >>> mine = Manifest("mine", "byte", "python", 256, {}, config={}, training=None, versions={})
    >>> write(place, manifest=mine, files={"notes.txt": b"ids are bytes"})
    >>> read_files(place, read_manifest(place))
    {'notes.txt': b'ids are bytes'}
    """
    for name in files:
        if not is_file_name(name):
            raise ValueError(f"{name!r} is not a plain file name")
    document = dump_manifest(replace(manifest, files={name: _sha256(files[name]) for name in files}))
    parse_manifest(document, path=directory / MANIFEST_NAME)  # an invalid manifest must not be written
    check_place(directory, overwrite=overwrite)
    write_folder(directory, {**files, MANIFEST_NAME: document}, replace=overwrite)


def check_place(directory: Path, *, overwrite: bool = False) -> None:
    """Raise the errors that `write` would raise for the folder, before a long training rather than after it.

    Args:
        directory: the folder to create.
        overwrite: whether to replace an existing folder; only a saved tokenizer or an empty folder is replaced.

    Raises:
        StoreError: the folder exists, contains files that tokbench did not write, or cannot be created.
    """
    check_parent(directory)
    try:
        if not directory.exists():
            return
        if not directory.is_dir():
            raise StoreError(f"{directory} is a file", hint="--out names a folder")
        if not overwrite:
            raise StoreError(f"{directory} exists", hint="--force replaces it; --out names another folder")
        entries = list(directory.iterdir())
        strangers = _foreign_entries(directory, entries) if entries else []
    except OSError as error:
        raise StoreError(
            f"{directory} cannot be opened: {error.strerror}", hint="--out names another folder"
        ) from error
    if strangers:
        raise StoreError(
            f"{directory} will not be replaced: tokbench did not write {first_of(strangers)}",
            hint="move it elsewhere, or name another folder with --out",
        )


def contain_the_same(one: Path, other: Path) -> bool:
    """Whether two folders contain files of the same names and contents, and nothing else.

    >>> contain_the_same(Path("no/such/folder"), Path("no/such/folder"))
    False
    """
    try:
        files, others = (
            {entry.name: entry for entry in folder.iterdir() if entry.name not in _DESKTOP_FILES}
            for folder in (one, other)
        )
        return files.keys() == others.keys() and all(
            filecmp.cmp(path, others[name], shallow=False) for name, path in files.items()
        )
    except OSError:
        return False


def check_parent(directory: Path) -> None:
    """Raise `StoreError` if a folder cannot be created."""
    parent = Path(os.path.realpath(directory)).parent
    while not os.path.exists(parent):  # noqa: PTH110 -- as below
        parent = parent.parent
    if not os.path.isdir(parent):  # noqa: PTH112
        raise StoreError(
            f"{directory} cannot be created: a part of its path is a file", hint="--out names another folder"
        )
    if not os.access(parent, os.W_OK | os.X_OK):
        raise StoreError(
            f"{directory} cannot be created: no permission to write to {parent}",
            hint="name a folder that you can write to with --out",
        )


def read_manifest(directory: Path) -> Manifest:
    """Read the manifest of a saved tokenizer, checking every field.

    Raises:
        StoreError: there is no saved tokenizer.
        ModelFormatError: the manifest is damaged, of another program, or of a newer format.
    """
    if not is_saved_tokenizer(directory):
        raise StoreError(
            f"{directory} is not a saved tokenizer: it has no {MANIFEST_NAME}"
            if os.path.isdir(directory)  # noqa: PTH112 -- as below
            else f"there is no tokenizer at {directory}",
            hint="`tokbench list` shows the saved ones",
        )
    path = directory / MANIFEST_NAME
    return parse_manifest(_read(directory, MANIFEST_NAME, limit=_MAX_MANIFEST_BYTES), path=path)


def read_files(
    directory: Path, manifest: Manifest, *, names: Iterable[str] | None = None
) -> dict[str, bytes]:
    """Read the files of a saved tokenizer, checking each against the sha256 in the manifest.

    Args:
        directory: the folder.
        manifest: the manifest of the folder.
        names: the files to read; None for all files.

    Raises:
        ModelFormatError: a file is missing, is not listed, is outside the folder, or was changed.
    """
    return {
        name: _read_checked(directory, manifest, name)
        for name in (manifest.files if names is None else names)
    }


def map_files(directory: Path, manifest: Manifest) -> dict[str, memoryview]:
    """Map all files into memory instead of reading them, so that only the needed parts are copied.

    Raises:
        ModelFormatError: as `read_files`.
    """
    return {name: _mapped_checked(directory, manifest, name) for name in manifest.files}


def is_saved_tokenizer(directory: Path) -> bool:
    """Whether a folder claims to be a saved tokenizer; only reading it shows whether it is complete."""
    return os.path.isfile(directory / MANIFEST_NAME)  # noqa: PTH113 -- False, not an error, without permission


def saved_tokenizers(root: Path = Path("tokenizers")) -> list[SavedTokenizer]:
    """Return the saved tokenizers in a folder by name, unreadable ones with the reason; [] for a missing folder.

    Hidden folders are skipped: an interrupted `write` may have left them.

    Raises:
        StoreError: the folder cannot be listed.
    """
    try:
        directories = sorted(path for path in root.iterdir() if not path.name.startswith("."))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"{root} cannot be listed: {error.strerror}") from error
    return [_saved_tokenizer(directory) for directory in directories if is_saved_tokenizer(directory)]


def _saved_tokenizer(directory: Path) -> SavedTokenizer:
    try:
        manifest, problem = read_manifest(directory), None
    except TokbenchError as error:
        manifest, problem = None, error
    return SavedTokenizer(directory, manifest, problem, num_bytes=_size(directory))


def _size(directory: Path) -> int:
    try:
        statuses = [path.lstat() for path in directory.iterdir()]
    except OSError:  # it is being replaced, or may be searched but not listed
        return 0
    return sum(status.st_size for status in statuses if stat.S_ISREG(status.st_mode))


def _foreign_entries(directory: Path, entries: Iterable[Path]) -> list[str]:
    """Return the entries of a folder that do not belong to a saved tokenizer."""
    try:
        own = {MANIFEST_NAME, *read_manifest(directory).files} if is_saved_tokenizer(directory) else set()
    except ModelFormatError as error:
        raise StoreError(
            f"{directory} will not be replaced: what is in it cannot be read ({error})",
            hint="delete it yourself, or name another folder with --out",
        ) from error
    known = own | _DESKTOP_FILES
    return sorted(
        entry.name
        for entry in entries
        if entry.name not in known or (entry.is_dir() and not entry.is_symlink())
    )


def _read_checked(directory: Path, manifest: Manifest, name: str) -> bytes:
    recorded = manifest.files.get(name)
    if recorded is None:
        raise ModelFormatError(
            directory / MANIFEST_NAME, f"the file {name!r} among its files", "none", hint="train again"
        )
    contents = _read(directory, name, limit=_MAX_FILE_BYTES)
    _check_hash(directory / name, contents, recorded)
    return contents


def _mapped_checked(directory: Path, manifest: Manifest, name: str) -> memoryview:
    contents = _opened(directory, name, limit=_MAX_FILE_BYTES, read=_mapped)
    _check_hash(directory / name, contents, manifest.files[name])
    return contents


def _check_hash(path: Path, contents: bytes | memoryview, recorded: str) -> None:
    found = _sha256(contents)
    if found != recorded:
        raise ModelFormatError(
            path,
            f"the recorded sha256 {recorded[:_HASH_DIGITS_SHOWN]}…",
            f"{found[:_HASH_DIGITS_SHOWN]}…",
            hint="the file was edited or cut: restore it, or train again",
        )


def _mapped(path: Path) -> memoryview:
    import mmap

    with path.open("rb") as file:
        try:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except ValueError:  # an empty file cannot be mapped
            return memoryview(b"")


def _read(directory: Path, name: str, *, limit: int) -> bytes:
    return _opened(directory, name, limit=limit, read=Path.read_bytes)


def _opened(directory: Path, name: str, *, limit: int, read: Callable[[Path], _Contents]) -> _Contents:
    """Read a regular file of a folder; a link out of it, a pipe or a huge file is rejected."""
    path = directory / name
    if name != MANIFEST_NAME and not is_file_name(name):
        raise ModelFormatError(path, "a plain file name", repr(name), hint="do not load this folder")
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(directory.resolve(strict=True)):
            raise ModelFormatError(
                path, "a file of this folder", f"a link to {real}", hint="copy the file here"
            )
        status = real.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ModelFormatError(path, "a regular file", "something else", hint="do not load this folder")
        if status.st_size > limit:
            raise ModelFormatError(path, f"at most {limit} bytes", f"{status.st_size}")
        return read(real)
    except FileNotFoundError as error:
        raise ModelFormatError(
            path, "the file", "none", hint="the folder is incomplete: restore it, or train again"
        ) from error
    except (OSError, RuntimeError) as error:  # Python < 3.13 raises RuntimeError for a loop of links
        raise StoreError(f"{path} cannot be read: {error}") from error


def _sha256(contents: bytes | memoryview) -> str:
    import hashlib

    return hashlib.sha256(contents).hexdigest()
