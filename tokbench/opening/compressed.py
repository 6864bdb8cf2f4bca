"""Vocabularies in compressed files, as `.tiktoken.gz`: unpacked as they are read, up to a bound."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from tokbench.errors import CorpusError, ModelFormatError
from tokbench.files.compression import compression_of

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from tokbench.files.compression import Compression

SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
"""How compressed files are called."""

_BZ2_BLOCK = b"1AY&SY"
"""What stands behind "BZh" and a digit: those alone could begin a word list."""


def compression_in(head: bytes) -> Compression | None:
    r"""The compression of a file, recognised by its first bytes, or None.

    >>> compression_in(b"\x1f\x8b\x08\x00"), compression_in(b"BZhang\n")
    ('gz', None)
    """
    found = compression_of(head)
    return None if found == "bz2" and head[4:10] != _BZ2_BLOCK else found


def unpacked(path: Path, compression: Compression, *, limit: int) -> bytes:
    """What is in a compressed file.

    Raises:
        ModelFormatError: it is more than `limit` bytes, or damaged.
        BackendUnavailableError: a `.zst` file where zstandard is not installed.
    """
    data = bytearray()
    with closing(_blocks(path, compression)) as blocks:
        for block in blocks:
            data += block
            if len(data) > limit:
                raise ModelFormatError(path, f"at most {limit:,} bytes of vocabulary", "more after unpacking")
    return bytes(data)


def unpacked_head(path: Path, compression: Compression, *, size: int) -> bytes:
    """The first bytes of what is in a compressed file. Raises as `unpacked`."""
    with closing(_blocks(path, compression)) as blocks:
        return next(blocks, b"")[:size]


def plain_name(path: Path) -> Path:
    """A path without its compression suffix.

    >>> from pathlib import PurePosixPath
    >>> plain_name(PurePosixPath("a/vocab.txt.gz"))
    PurePosixPath('a/vocab.txt')
    """
    return path.with_suffix("") if path.suffix in SUFFIXES else path


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
        raise ModelFormatError(path, "a compressed vocabulary", found, hint="get it again") from None
