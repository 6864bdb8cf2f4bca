"""Read untrusted files: bounded, decompressed if needed, refused if they are placeholders."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from tokbench.errors import CorpusError, ModelFormatError, StoreError
from tokbench.files.untrusted import compression_of, open_regular, read_regular, refuse_placeholder
from tokbench.files.untrusted_json import load_strict_json

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from tokbench.files.untrusted import Compression

MAX_FILE_BYTES = 128 * 2**20
"""The largest vocabularies in use are a quarter of this."""

SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
"""Suffixes of compressed files."""

_MAGIC_BYTES = 16
_HEAD_BYTES = 4096

_BZ2_BLOCK = b"1AY&SY"
"""First bytes after "BZh" and a digit; without this check, a word list could look like bzip2."""


def read_file(path: Path, *, limit: int = MAX_FILE_BYTES) -> bytes:
    """Return the bytes of a regular file, decompressed if it is compressed.

    Raises:
        ModelFormatError: the file is larger than `limit`, packed or unpacked, is not a regular file, or is a
            placeholder for a file that was not downloaded.
        StoreError: the file cannot be read.
    """
    try:
        data = read_regular(path, limit=limit)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error
    compression = _compression_in(data[:_MAGIC_BYTES])
    data = data if compression is None else _unpacked(path, compression, limit=limit)
    refuse_placeholder(path, data[:_HEAD_BYTES])
    return data


def read_head(path: Path, size: int = _HEAD_BYTES) -> bytes:
    """Return the first bytes of a regular file, decompressed if it is compressed.

    Raises:
        ModelFormatError: the file is not a regular file, is a placeholder, or its compressed data is damaged.
        StoreError: the file cannot be read.
    """
    head = _read_head(path, size)
    compression = _compression_in(head)
    if compression is not None:
        with closing(_blocks(path, compression)) as blocks:
            head = next(blocks, b"")[:size]
    refuse_placeholder(path, head)
    return head


def is_packed(path: Path) -> bool:
    """Whether a file is compressed. Raises as `read_head`."""
    return _compression_in(_read_head(path, _MAGIC_BYTES)) is not None


def _read_head(path: Path, size: int) -> bytes:
    try:
        with open_regular(path) as stream:
            return stream.read(size)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error


def plain_name(path: Path) -> Path:
    """Return a path without its compression suffix.

    >>> from pathlib import PurePosixPath
    >>> plain_name(PurePosixPath("a/vocab.txt.gz"))
    PurePosixPath('a/vocab.txt')
    """
    return path.with_suffix("") if path.suffix in SUFFIXES else path


def parse_json(data: bytes, *, path: Path | str) -> dict[str, Any]:
    r"""Parse a JSON object; repeated keys and deep nesting are refused.

    Raises:
        ModelFormatError: the data is anything else; the message names the line and column.

    >>> parse_json(b'{"a": 1}', path="vocab.json")
    {'a': 1}
    """
    document = load_strict_json(data, path=path)
    if not isinstance(document, dict):
        raise ModelFormatError(path, "a JSON object", f"a JSON {_JSON_NAMES[type(document)]}")
    return document


_JSON_NAMES = {
    list: "array",
    str: "string",
    int: "number",
    float: "number",
    bool: "literal",
    type(None): "null",
}


def _compression_in(head: bytes) -> Compression | None:
    r"""Return the compression of a file by its first bytes, or None.

    >>> _compression_in(b"\x1f\x8b\x08\x00"), _compression_in(b"BZhang\n")
    ('gz', None)
    """
    found = compression_of(head)
    return None if found == "bz2" and head[4:10] != _BZ2_BLOCK else found


def _unpacked(path: Path, compression: Compression, *, limit: int) -> bytes:
    """Return the decompressed contents of a file.

    Raises:
        ModelFormatError: the contents exceed `limit` bytes, or are damaged.
        BackendUnavailableError: it is a `.zst` file and zstandard is not installed.
    """
    data = bytearray()
    with closing(_blocks(path, compression)) as blocks:
        for block in blocks:
            data += block
            if len(data) > limit:
                raise ModelFormatError(path, f"at most {limit:,} bytes of vocabulary", "more after unpacking")
    return bytes(data)


def _blocks(path: Path, compression: Compression) -> Generator[bytes, None, None]:
    from tokbench.corpus.bytes import read_blocks
    from tokbench.corpus.files import CorpusFile

    file = CorpusFile(
        path=path, name=str(path), size=0, kind="text", compression=compression, below=(path.name,)
    )
    try:
        yield from read_blocks(file)
    except CorpusError as error:
        found = error.message.removeprefix(f"{path}: ")
        raise ModelFormatError(path, "a compressed vocabulary", found, hint="download it again") from None
