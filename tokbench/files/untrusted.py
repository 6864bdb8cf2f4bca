"""Reading of untrusted files: regular files only, sizes before contents."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, Literal

from tokbench.errors import ConfigError, ModelFormatError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from io import BufferedReader
    from pathlib import Path


_SMALL_FILE = 1 << 16
# Without O_NONBLOCK, opening a pipe would wait for a writer.
_OPEN_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
)
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

Compression = Literal["gz", "bz2", "xz", "zst"]

MAGIC: dict[Compression, tuple[bytes, ...]] = {
    "gz": (b"\x1f\x8b",),
    "bz2": (b"BZh",),
    "xz": (b"\xfd7zXZ\x00",),
    # A frame, or one of the sixteen kinds of skippable frames with which parallel compressors begin.
    "zst": (b"\x28\xb5\x2f\xfd", *(bytes([low, 0x2A, 0x4D, 0x18]) for low in range(0x50, 0x60))),
}
"""The first bytes of a file of each compression."""


LFS_POINTER = b"version https://git-lfs.github.com/spec/"
"""First bytes of the small file that stands for a file of Git LFS until it is downloaded."""

_PAGE = re.compile(rb"(?i)(?:\xef\xbb\xbf)?\s*(?:<!doctype\s+html|<html|<\?xml|<head)[\s>]")


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading; links are followed, and the call never blocks.

    Raises:
        ModelFormatError: the path is a folder, a pipe, a socket or a device.
        OSError: the file cannot be opened.
        OSError: it cannot be read.
    """
    _check_regular(path, path.stat().st_mode)  # opening some devices has side effects
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        _check_regular(path, os.fstat(descriptor).st_mode)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path, *, limit: int) -> bytes:
    """Return the bytes of a regular file.

    Raises:
        ModelFormatError: the file is not regular, has more bytes than `limit`, or grows while it is read.
        OSError: the file cannot be read.
    """
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > limit:
            raise ModelFormatError(path, f"at most {limit:,} bytes", f"{size:,}")
        most = min(max(size, _SMALL_FILE), limit)  # virtual files, as in /proc, report size 0
        data = stream.read(most + 1)
    if len(data) > most:
        raise ModelFormatError(path, f"{size:,} bytes", "more: it grows while it is read")
    return data


def read_named(path: Path, *, limit: int) -> bytes:
    """Return the bytes of a file that the user named; it may be a pipe, such as `<(…)`.

    Raises:
        ModelFormatError: the file has more bytes than `limit`.
        OSError: the file cannot be read.
    """
    with path.open("rb", buffering=0) as stream:
        data = bytearray()
        while len(data) <= limit and (block := stream.read(_SMALL_FILE)):
            data += block
    if len(data) > limit:
        raise ModelFormatError(path, f"at most {limit:,} bytes", "more")
    return bytes(data)


def refuse_placeholder(path: Path | str, head: bytes) -> None:
    """Refuse a file that is a placeholder for another one, by its first bytes.

    Raises:
        ModelFormatError: it is a Git LFS pointer, or a page that a server sent instead of the file.
    """
    if head.startswith(LFS_POINTER):
        raise ModelFormatError(
            path,
            "the file itself",
            "a Git LFS pointer to it: it was not downloaded",
            hint="fetch it with `git lfs pull` in its clone",
        )
    if _PAGE.match(head):
        raise ModelFormatError(
            path,
            "the file itself",
            "a page of HTML or XML, as servers send instead of a missing file",
            hint="download the file again, signed in where that is needed",
        )


def unreadable(
    what: str, path: Path, error: OSError | ModelFormatError, *, hint: str | None = None
) -> ConfigError:
    """Return the error for a file that an option names and that cannot be read.

    Args:
        what: the role of the file.
        path: its path.
        error: the exception of `read_named`, or of the check of its bytes.
        hint: what to do next.

    >>> from pathlib import Path
    >>> str(unreadable("list", Path("ids.txt"), FileNotFoundError(2, "No such file or directory")))
    'the list ids.txt cannot be read: No such file or directory'
    """
    if isinstance(error, ModelFormatError):  # its message names the file
        return ConfigError(f"the {what} cannot be read: {error}", hint=hint)
    return ConfigError(f"the {what} {path} cannot be read: {error.strerror or error}", hint=hint)


def decode_text(data: bytes, *, path: Path | str) -> str:
    """Decode the UTF-8 text of a file, without a byte order mark. Raises `ModelFormatError`."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"0x{data[error.start]:02X} at byte {error.start}"
        raise ModelFormatError(path, "UTF-8", found) from None


def first_repeated(texts: Iterable[str]) -> str | None:
    """Return the first text that occurred before, or None.

    >>> first_repeated(["a", "b", "a", "b"])
    'a'
    """
    seen: set[str] = set()
    for text in texts:
        if text in seen:
            return text
        seen.add(text)
    return None


def _check_regular(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        found = next((name for is_kind, name in _KINDS if is_kind(mode)), "something else")
        raise ModelFormatError(path, "a file", found)


def compression_of(head: bytes) -> Compression | None:
    r"""Return the compression that the first bytes of a file indicate, or None.

    >>> compression_of(b"\x1f\x8b\x08\x00")
    'gz'
    """
    return next((name for name, magic in MAGIC.items() if head.startswith(magic)), None)
