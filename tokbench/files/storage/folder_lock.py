"""A lock that keeps two runs from writing to the same local folder."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

from tokbench.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokbench.files.storage.place import Place

LOCK_NAME = ".lock"


@contextmanager
def locked(folder: Place, *, is_shared: bool) -> Iterator[None]:
    """Hold the lock of a folder while the block runs; when a process is killed, its lock is released.

    Args:
        folder: created if it is missing, and removed again if the block leaves nothing in it. Object stores, and some
            file systems, have no locks: there, nothing is locked.
        is_shared: whether other shared locks of the folder may be held at the same time.

    Raises:
        StoreError: another run holds the lock, or the folder cannot be written.

    >>> from tempfile import TemporaryDirectory
    >>> from tokbench.files.storage.open import place_of
    >>> with TemporaryDirectory() as folder, locked(place_of(folder), is_shared=False):
    ...     os.listdir(folder)
    ['.lock']
    """
    path = folder.local
    is_new = path is not None and not path.exists()
    file = None if path is None else _lock_file(path, is_shared=is_shared)
    if path is None or file is None:
        yield
        return
    with file:
        try:
            yield
        finally:
            if not is_shared:
                with suppress(OSError):
                    (path / LOCK_NAME).unlink()
                    if is_new:
                        path.rmdir()  # fails unless it is empty


def _lock_file(folder: Path, *, is_shared: bool) -> BinaryIO | None:
    """Return the locked file; None if the system has no locks. Raises `StoreError`."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    while True:
        file = _opened(folder)
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise StoreError(
                f"another run is writing to {folder}", hint="wait for it, or name another folder with --out"
            ) from None
        except OSError:
            file.close()
            return None
        if _is_current(folder, file):
            return file
        file.close()  # the previous holder has deleted it, and another process may have created a new one


def _opened(folder: Path) -> BinaryIO:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return (folder / LOCK_NAME).open("ab")
    except OSError as error:
        if folder.is_file():
            raise StoreError(f"{folder} is a file", hint="--out names a folder") from None
        raise StoreError(
            f"{folder} cannot be written: {error.strerror or error}", hint="name another folder with --out"
        ) from error


def _is_current(folder: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), (folder / LOCK_NAME).stat())
    except OSError:
        return False
