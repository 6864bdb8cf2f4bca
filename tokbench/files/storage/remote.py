"""Remote places through fsspec: object stores and cluster file systems."""

from __future__ import annotations

import errno
import io
import random
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from tokbench.errors import StoreError
from tokbench.files.storage.place import Stored

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import BufferedReader
    from pathlib import Path

BLOCK_BYTES = 8 << 20
"""The bytes to read ahead: a request takes as long as reading some megabytes."""

_TAGS = ("ETag", "etag", "generation")
_VERSIONS = (*_TAGS, "mtime", "LastModified", "last_modified", "updated", "created")
_SHOW_PARTIAL_FILES = {"hdfs", "webhdfs", "sftp", "ssh", "ftp", "smb", "arrow_hdfs", "nfs"}
"""Protocols under which readers can see a file while it is written, and which can rename files."""

ATTEMPTS = 4
_FIRST_WAIT = 0.5
_PERMANENT = (
    FileNotFoundError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
    FileExistsError,
    NotImplementedError,
    ImportError,
    ValueError,
    TypeError,
)
_NO_CREDENTIALS = {"NoCredentialsError", "PartialCredentialsError", "DefaultCredentialsError"}
_PERMANENT_NAMES = {*_NO_CREDENTIALS, "ProfileNotFound", "FileExpired"}
"""Names of library exceptions, whose modules may not be installed."""
_LONGEST_REASON = 300

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class RemotePlace:
    """A URL and its fsspec file system; see `Place`."""

    url: str
    store: Any
    path: str

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        """See `Place`."""
        return self.path.rpartition("/")[2]

    @property
    def local(self) -> None:
        """See `Place`."""
        return

    def __truediv__(self, name: str) -> Self:
        return type(self)(f"{self.url}/{name}", self.store, f"{self.path}/{name}")

    def open(self) -> BufferedReader:
        """See `Place`."""
        opened = partial(self.store.open, self.path, "rb", block_size=BLOCK_BYTES)
        return io.BufferedReader(_RetryingFile(self._retried(opened), str(self)), 1 << 20)

    def stat(self) -> Stored:
        """See `Place`."""
        info = self._retried(partial(self.store.info, self.path))
        if info["type"] != "file":
            raise FileNotFoundError(2, "a folder, not a file", str(self))
        return _stored(self, info)

    def exists(self) -> bool:
        """See `Place`."""
        try:
            self._retried(partial(self.store.info, self.path))
        except FileNotFoundError:
            return False
        return True

    def files(self) -> list[Stored]:
        """See `Place`."""
        try:
            found = self._retried(partial(self.store.find, self.path, detail=True))
        except FileNotFoundError:
            return []
        return self._visible_files(found)

    def matches(self) -> list[Stored]:
        """Return the files whose path matches this place's path as a pattern, sorted by path."""
        return self._visible_files(self._retried(partial(self.store.glob, self.path, detail=True)))

    def put(self, path: Path) -> None:
        """See `Place`."""
        size = path.stat().st_size
        self._written(lambda to: self.store.put_file(str(path), to), size)

    def write(self, data: bytes) -> None:
        """See `Place`."""
        self._written(lambda to: self.store.pipe_file(to, data), len(data))

    def remove(self) -> None:
        """See `Place`."""
        try:
            self._retried(partial(self.store.rm_file, self.path))
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(f"{self} was not deleted: {error.strerror or error}") from error

    def _written(self, write: Callable[[str], None], size: int) -> None:
        try:
            self._retried(lambda: self._write_whole(write, size))
        except OSError as error:
            raise StoreError(
                f"{self} was not written: {error.strerror or error}",
                hint="check the address and your credentials; then run the command again",
            ) from error

    def _write_whole(self, write: Callable[[str], None], size: int) -> None:
        """Write a file so that readers never see a part of it: outside object stores by renaming a temporary file."""
        protocols = {self.store.protocol} if isinstance(self.store.protocol, str) else {*self.store.protocol}
        if _SHOW_PARTIAL_FILES.isdisjoint(protocols):
            write(self.path)
            self._check_size(self.path, size)
            return
        folder, _, name = self.path.rpartition("/")
        staging = f"{folder}/.{name[:40]}.tmp-{secrets.token_hex(6)}"
        try:
            self.store.makedirs(folder, exist_ok=True)
            write(staging)
            self._check_size(staging, size)
            with suppress(FileNotFoundError):  # a rename does not replace
                self.store.rm_file(self.path)
            self.store.mv(staging, self.path)
        finally:
            with suppress(Exception):
                self.store.rm_file(staging)

    def _check_size(self, path: str, size: int) -> None:
        self.store.invalidate_cache()
        found = self.store.info(path)["size"]
        if found != size:
            raise OSError(f"{found} bytes arrived of {size}")

    def _visible_files(self, listing: dict[str, dict[str, Any]]) -> list[Stored]:
        prefix = self.url.removesuffix(self.path)
        stored = [
            type(self)(f"{prefix}{path}", self.store, path)._stored(info)
            for path, info in listing.items()
            if info["type"] == "file" and not _is_hidden(path.removeprefix(self.path))
        ]
        return sorted(stored, key=lambda file: str(file.place))

    def _stored(self, listed: dict[str, Any]) -> Stored:
        """Return a listed file; without an entity tag its version is from `stat`, as times in listings may differ."""
        return _stored(self, listed) if any(listed.get(key) for key in _TAGS) else self.stat()

    def _retried(self, what: Callable[[], Any]) -> Any:
        self.store.invalidate_cache()  # so that files written by others are seen
        return retried(what, place=str(self))


class _RetryingFile(io.RawIOBase):
    """A file of a store; a failed read is retried from the same position."""

    def __init__(self, file: Any, place: str) -> None:
        self._file = file
        self._place = place
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._file.size}[whence]
        self._position = max(base + offset, 0)
        return self._position

    def readinto(self, buffer: Any, /) -> int:
        def read() -> bytes:
            self._file.seek(self._position)
            data: bytes = self._file.read(len(buffer))
            return data

        data = retried(read, place=self._place)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _stored(place: RemotePlace, info: dict[str, Any]) -> Stored:
    version = next((str(info[key]) for key in _VERSIONS if info.get(key) is not None), "")
    return Stored(place, int(info["size"] or 0), version)


def _is_hidden(below: str) -> bool:
    return any(part.startswith(".") for part in below.split("/"))


def retried(what: Callable[[], _T], *, place: str) -> _T:
    """Return the result of a call, retried up to four times within about four seconds.

    The libraries of stores raise many exceptions; all are retried except those that are certainly permanent.

    Args:
        what: the function to call.
        place: the name of the place in errors.

    Raises:
        OSError: with the reason in `strerror` and the place in `filename`; of a subclass that tells the cause.

    >>> retried(lambda: 1, place="s3://bucket/a")
    1
    """
    for attempt in range(ATTEMPTS):
        try:
            if attempt:
                time.sleep(_FIRST_WAIT * 2 ** (attempt - 1) * random.uniform(0.8, 1.2))  # noqa: S311 - no secret
            return what()
        except Exception as raised:
            error = _connection_error(raised) or raised
            if isinstance(error, _PERMANENT) or type(error).__name__ in _PERMANENT_NAMES:
                raise _as_os_error(error, place) from raised
            last = error
    raise _as_os_error(last, place, more=f", tried {ATTEMPTS} times") from last


def _connection_error(error: Exception) -> OSError | None:
    """Return the connection error behind a FileNotFoundError, which fsspec raises for unreachable web servers."""
    cause = error.__cause__ if isinstance(error, FileNotFoundError) else None
    return cause if isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError) else None


def _as_os_error(error: Exception, place: str, *, more: str = "") -> OSError:
    for kind, code, reason in (
        (FileNotFoundError, errno.ENOENT, "there is no such file"),
        (PermissionError, errno.EACCES, "access is denied"),
    ):
        if isinstance(error, kind):
            return kind(code, reason, place)
    if type(error).__name__ in _NO_CREDENTIALS:
        return PermissionError(errno.EACCES, "no credentials were found", place)
    lines = (str(error) or type(error).__name__).splitlines()
    return OSError(errno.EIO, lines[0][:_LONGEST_REASON] + more, place)
