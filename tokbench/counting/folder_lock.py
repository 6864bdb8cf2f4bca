"""Keeps two runs out of one folder of this machine."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tokbench.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.files.storage.place import Place

LOCK_NAME = ".lock"


@contextmanager
def locked(folder: Place, *, is_shared: bool) -> Iterator[None]:
    """Hold a folder as long as the block runs; the lock of a process that is killed is gone with it.

    Args:
        folder: it is made where it is missing. Object stores have no locks: nothing is done there.
        is_shared: whether others of these may hold it too.

    Raises:
        StoreError: another run holds it.
    """
    path = folder.local
    if path is None:
        yield
        return
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    try:
        path.mkdir(parents=True, exist_ok=True)
        with (path / LOCK_NAME).open("ab") as file:
            try:
                fcntl.flock(file, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StoreError(
                    f"another run is writing to {folder}",
                    hint="wait for it, or name another folder with --out",
                ) from None
            yield
            if not is_shared:
                (path / LOCK_NAME).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"{folder} was not written: {error.strerror or error}", hint="name another folder"
        ) from error
