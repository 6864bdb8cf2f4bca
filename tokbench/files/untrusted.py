"""Read untrusted files: regular files only, sizes before contents, JSON within bounds."""

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
"""Levels of a JSON value: a tokenizer.json has eight, and what walks over a value must not run out of stack."""
_CONTAINERS = frozenset((list, dict))
_MANY = 64
"""From this many values on it is worth looking whether there is a container among them."""

_SMALL_FILE = 1 << 16
# Opening a pipe would wait for somebody to write into it.
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
    # A frame, or one of the sixteen kinds of skippable frame that parallel compressors begin with.
    "zst": (b"\x28\xb5\x2f\xfd", *(bytes([low, 0x2A, 0x4D, 0x18]) for low in range(0x50, 0x60))),
}
"""What a file of each begins with."""


def open_regular(path: Path) -> BufferedReader:
    """A regular file, open for reading; a link is followed, and nothing is waited for.

    Raises:
        ModelFormatError: a folder, a pipe, a socket or a device.
        OSError: it cannot be read.
    """
    _check_regular(path, path.stat().st_mode)  # opening some devices does something
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        _check_regular(path, os.fstat(descriptor).st_mode)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path, *, limit: int) -> bytes:
    """The bytes of a regular file.

    Raises:
        ModelFormatError: it is not a regular file, has more bytes than `limit`, or grows while it is read.
        OSError: it cannot be read.
    """
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > limit:
            raise ModelFormatError(path, f"at most {limit:,} bytes", f"{size:,}")
        most = min(max(size, _SMALL_FILE), limit)  # what the system makes up, as /proc, has no size
        data = stream.read(most + 1)
    if len(data) > most:
        raise ModelFormatError(path, f"{size:,} bytes", "more: it grows while it is read")
    return data


def read_named(path: Path, *, limit: int) -> bytes:
    """The bytes of a file that a user named, which may be a pipe, as `<(…)`.

    Raises:
        ModelFormatError: it has more bytes than `limit`.
        OSError: it cannot be read.
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
    """The error for a file that an option names, and that cannot be read.

    Args:
        what: the file is to be.
        path: of the file.
        error: what `read_named`, or what looked at its bytes, raised.
        hint: what to do next.

    >>> from pathlib import Path
    >>> str(unreadable("list", Path("ids.txt"), FileNotFoundError(2, "No such file or directory")))
    'the list ids.txt cannot be read: No such file or directory'
    """
    if isinstance(error, ModelFormatError):  # which names the file
        return ConfigError(f"the {what} cannot be read: {error}", hint=hint)
    return ConfigError(f"the {what} {path} cannot be read: {error.strerror or error}", hint=hint)


def load_json(data: bytes, *, path: Path | str, hint: str | None = None) -> Any:
    """A JSON value of at most `MAX_JSON_DEPTH` levels; a key that comes twice counts by its last value.

    Raises:
        ModelFormatError: it is something else.

    >>> load_json(b'{"a": [1]}', path="index.json")
    {'a': [1]}
    """
    import orjson

    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ModelFormatError(path, "JSON", str(error), hint=hint) from None
    check_depth(value, path=path, hint=hint)
    return value


def load_strict_json(data: bytes, *, path: Path | str, hint: str | None = None) -> Any:
    r"""A JSON value in which each key comes once; the line and column of what is none are named.

    Raises:
        ModelFormatError: it is something else, nested too deep, or has a number of thousands of digits.

    >>> load_strict_json(b'[1e3, "\\u00e9"]', path="vocab.json")
    [1000.0, 'é']
    """
    import json

    text = decode_text(data, path=path)
    try:
        value = json.loads(text, object_pairs_hook=_object_of_unique_keys)
    except json.JSONDecodeError as error:
        place = f"{path}, line {error.lineno}, column {error.colno}"
        raise ModelFormatError(place, "JSON", f"{error.msg.lower()}", hint=hint) from None
    except _DuplicateKeyError as error:
        raise ModelFormatError(
            path,
            "each key once",
            f"{error.args[0]!a} twice",
            hint="which of its two values counts depends on the reader: remove one of them",
        ) from None
    except ValueError:  # what Python says of whole numbers that take it long to read
        raise ModelFormatError(
            path, "numbers of a reasonable size", "one with thousands of digits", hint=hint
        ) from None
    except RecursionError:
        raise _too_deep(path) from None
    check_depth(value, path=path, hint=hint)
    return value


def check_depth(value: object, *, path: Path | str, hint: str | None = None) -> None:
    """Refuse a JSON value of more than `MAX_JSON_DEPTH` levels, level by level. Raises `ModelFormatError`."""
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
    """Whether there is a list or dictionary among values; a vocabulary has a million of others."""
    return not _CONTAINERS.isdisjoint(map(type, values))


def decode_text(data: bytes, *, path: Path | str) -> str:
    """The UTF-8 text of a file, without a byte order mark. Raises `ModelFormatError`."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"0x{data[error.start]:02X} at byte {error.start}"
        raise ModelFormatError(path, "UTF-8", found) from None


def first_repeated(texts: Iterable[str]) -> str | None:
    """The first text that has come before, or None.

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
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _DuplicateKeyError(first_repeated(key for key, _ in pairs))
    return made


def _too_deep(path: Path | str, *, hint: str | None = None) -> ModelFormatError:
    return ModelFormatError(path, f"JSON of at most {MAX_JSON_DEPTH} levels", "deeper nesting", hint=hint)


def compression_of(head: bytes) -> Compression | None:
    r"""The compression that the first bytes of a file tell, or None.

    >>> compression_of(b"\x1f\x8b\x08\x00")
    'gz'
    """
    return next((name for name, magic in MAGIC.items() if head.startswith(magic)), None)
