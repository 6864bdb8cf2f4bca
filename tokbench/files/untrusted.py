"""Reading of untrusted files: regular files only, sizes before contents, JSON of bounded depth."""

from __future__ import annotations

import os
import stat
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from tokbench.errors import ConfigError, ModelFormatError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from io import BufferedReader
    from pathlib import Path

MAX_JSON_DEPTH = 64
"""The most nested levels of a JSON value: a tokenizer.json has eight, and recursion over a value must be safe."""
_CONTAINERS = frozenset((list, dict))
_MANY = 64
"""The smallest number of values for which it pays to check whether any is a container."""

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


def load_json(data: bytes, *, path: Path | str, hint: str | None = None) -> Any:
    """Parse a JSON value of at most `MAX_JSON_DEPTH` levels; of duplicate keys the last one counts.

    Raises:
        ModelFormatError: the data is not such a value.

    >>> load_json(b'{"a": [1]}', path="index.json")
    {'a': [1]}
    """
    import orjson

    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ModelFormatError(path, "JSON", f"a syntax error: {error}", hint=hint) from None
    check_depth(value, path=path, hint=hint)
    return value


def load_strict_json(data: bytes, *, path: Path | str, hint: str | None = None) -> Any:
    r"""Parse a JSON value in which each key occurs once; errors name the line and column.

    Raises:
        ModelFormatError: the data is not such a value, is nested too deeply, or has a number of thousands of digits.

    >>> load_strict_json(b'[1e3, "\\u00e9"]', path="vocab.json")
    [1000.0, 'é']
    """
    import json

    text = decode_text(data, path=path)
    try:
        value = json.loads(text, object_pairs_hook=_object_of_unique_keys)
    except json.JSONDecodeError as error:
        place = f"{path}, line {error.lineno}, column {error.colno}"
        raise ModelFormatError(place, "JSON", f"a syntax error: {error.msg.lower()}", hint=hint) from None
    except _DuplicateKeyError as error:
        raise ModelFormatError(
            path,
            "each key once",
            f"{error.args[0]!a} twice",
            hint="which of its two values counts depends on the reader: remove one of them",
        ) from None
    except ValueError:  # Python's error for integers that take it too long to parse
        raise ModelFormatError(
            path, "numbers of a reasonable size", "one with thousands of digits", hint=hint
        ) from None
    except RecursionError:
        raise _too_deep(path) from None
    check_depth(value, path=path, hint=hint)
    return value


def check_depth(value: object, *, path: Path | str, hint: str | None = None) -> None:
    """Reject a JSON value of more than `MAX_JSON_DEPTH` levels, level by level. Raises `ModelFormatError`."""
    level: list[Any] = [[value]]
    for _ in range(MAX_JSON_DEPTH + 1):
        contents = [item.values() if type(item) is dict else item for item in level]
        if not _hold_containers(chain.from_iterable(contents)):
            return
        level = [
            item
            for items in contents
            if len(items) < _MANY or _hold_containers(items)
            for item in items
            if type(item) in _CONTAINERS
        ]
    raise _too_deep(path, hint=hint)


def _hold_containers(values: Iterable[object]) -> bool:
    """Whether any value is a list or dictionary; a vocabulary has a million values of other types."""
    return not _CONTAINERS.isdisjoint(map(type, values))


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


class _DuplicateKeyError(Exception):
    pass


def _object_of_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise _DuplicateKeyError(first_repeated(key for key, _ in pairs))
    return mapping


def _too_deep(path: Path | str, *, hint: str | None = None) -> ModelFormatError:
    return ModelFormatError(path, f"JSON of at most {MAX_JSON_DEPTH} levels", "deeper nesting", hint=hint)


def compression_of(head: bytes) -> Compression | None:
    r"""Return the compression that the first bytes of a file indicate, or None.

    >>> compression_of(b"\x1f\x8b\x08\x00")
    'gz'
    """
    return next((name for name, magic in MAGIC.items() if head.startswith(magic)), None)
