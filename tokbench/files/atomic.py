"""Write a file, or a folder of files, atomically, even if a step fails.

A folder is written into a hidden sibling, `.NAME.tmp-<random>`, and flushed to disk before one rename moves it into
place. A process that is killed leaves the hidden sibling behind, and the target in its old or new state.
"""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tokbench.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_NO_EXCHANGE = {
    errno.ENOSYS,
    errno.EINVAL,
    errno.EPERM,
    errno.ENOTSUP,
}  # old kernels, file systems, sandboxes
_NO_FOLDER_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF}  # network file systems

_REASONS = {
    errno.ENOSPC: (
        "no space left on the disk",
        "free some space, or name a folder on another disk with --out",
    ),
    errno.EDQUOT: (
        "the disk quota is used up",
        "free some space, or name a folder on another disk with --out",
    ),
    errno.EACCES: ("no permission to write there", "name a folder that you can write to with --out"),
    errno.EPERM: ("no permission to write there", "name a folder that you can write to with --out"),
    errno.EROFS: ("the disk is read-only", "name a folder that you can write to with --out"),
    errno.EEXIST: ("it exists", "--force replaces it; --out names another folder"),
    errno.ENOTEMPTY: ("it exists", "--force replaces it; --out names another folder"),
    errno.ENOTDIR: ("a part of its path is a file", "name another folder with --out"),
    errno.ENAMETOOLONG: ("its name is too long", "name another folder with --out"),
}


def write_folder(directory: Path, files: Mapping[str, bytes], *, replace: bool) -> None:
    """Put a folder with these files into place in one step; if that fails, nothing has changed.

    Missing parent folders are created. If the folder is a symbolic link, its target is replaced. The replaced folder
    is deleted afterwards, except for its sub-folders: the caller must ensure that nothing of value is lost.

    Args:
        directory: the folder; it may exist if `replace` is true, or if it is empty.
        files: plain file name → contents.
        replace: whether to replace an existing folder.

    Raises:
        StoreError: the folder cannot be written, or exists with files and `replace` is false.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "tokenizers" / "mine"
    >>> write_folder(place, {"a.txt": b"one"}, replace=False)
    >>> write_folder(place, {"b.txt": b"two"}, replace=True)
    >>> [(file.name, file.read_bytes()) for file in place.iterdir()]
    [('b.txt', b'two')]
    """
    target = Path(os.path.realpath(directory))

    staging = target.with_name(f".{target.name[:40]}.tmp-{secrets.token_hex(6)}")
    try:
        _make_parents(target.parent)
        _write_files(staging, files)
        _move_into_place(staging, target, replace=replace)
    except OSError as error:
        raise _store_error(error, directory) from error
    finally:
        _discard(staging)  # the unused new files, or the replaced ones


def _make_parents(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from error


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.mkdir()
    for name, contents in files.items():
        with (folder / name).open("xb") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
    _sync_folder(folder)


def _move_into_place(staging: Path, target: Path, *, replace: bool) -> None:
    """Rename, or exchange with the existing folder; undone if the rename cannot be flushed to disk."""
    move = _exchange if replace and target.is_dir() else Path.rename
    move(staging, target)
    try:
        _sync_folder(target.parent)
    except BaseException:
        move(target, staging)
        raise


def _exchange(one: Path, other: Path) -> None:
    """Exchange two folders, atomically where the system can."""
    try:
        _renameat2_exchange(one, other)
    except OSError as error:
        if error.errno not in _NO_EXCHANGE:
            raise
        _exchange_by_renames(one, other)


def _renameat2_exchange(one: Path, other: Path) -> None:
    """Call Linux's renameat2(RENAME_EXCHANGE); raises ENOSYS where it is missing."""
    import ctypes

    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError) as error:  # another libc, a static one, Windows
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from error
    if renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(other))


def _exchange_by_renames(one: Path, other: Path) -> None:
    """Exchange two folders by three renames: undone if one fails, but not if the process is killed."""
    aside = one.with_name(f"{one.name}.aside")
    try:
        other.rename(aside)
        one.rename(other)
        aside.rename(one)
    except BaseException:
        if aside.exists():
            if not one.exists():
                other.rename(one)
            _put_back(aside, other)
        raise


def _put_back(aside: Path, place: Path) -> None:
    """Rename the folder to its place, unless another writer has put a folder there: that one stays."""
    try:
        aside.rename(place)
    except OSError as error:
        # An existence check beforehand would be a race.
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        _discard(aside)


def _sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk, where the file system supports it."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(descriptor)


def _discard(folder: Path) -> None:
    """Delete a folder and the files in it, as far as possible; a sub-folder is never deleted."""
    with suppress(OSError):
        for path in list(folder.iterdir()):
            if path.is_symlink() or not path.is_dir():
                path.unlink()
        folder.rmdir()


def _store_error(error: OSError, directory: Path) -> StoreError:
    code = error.errno if error.errno is not None else 0
    reason, hint = _REASONS.get(code, (error.strerror or str(error), None))
    return StoreError(f"{directory} was not written: {reason}; nothing was changed", hint=hint)


def write_file(path: Path, data: bytes) -> None:
    """Write a file beside its target and move it into place; a link is followed, an existing file is replaced.

    A pipe or a device is written to directly.

    Raises:
        StoreError: the file cannot be written; an existing file stays.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(data)
            return
    except OSError as error:
        raise _not_written(path, error) from error
    target = Path(os.path.realpath(path))
    staging = target.with_name(f".{target.name[:40]}.tmp-{secrets.token_hex(6)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with staging.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        staging.replace(target)
    except OSError as error:
        raise _not_written(path, error) from error
    finally:
        with suppress(OSError):
            staging.unlink()


def _not_written(path: Path, error: OSError) -> StoreError:
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return StoreError(
        f"{path} was not written: {error.strerror or error}; nothing was changed",
        hint="free some space, or name a file on another disk" if is_full else "name another file",
    )
