"""The bytes of corpus files: decompressed blocks, and byte sources for backends."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import sys
import zlib
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from threading import Thread
from typing import TYPE_CHECKING, BinaryIO, Protocol

from tokbench.core.documents import ByteSource, refuse_shorter
from tokbench.corpus.file_spans import bounds_of
from tokbench.corpus.files import STDIN, CorpusFile
from tokbench.corpus.paths import unreadable
from tokbench.errors import BackendUnavailableError, CorpusError, ModelFormatError
from tokbench.files.storage.open import place_of
from tokbench.files.untrusted import LFS_POINTER, MAGIC, open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from io import BufferedReader

    from tokbench.files.untrusted import Compression

BLOCK_BYTES = 1 << 20
HEAD_BYTES = 8192
"""The size of the file's beginning in which a NUL byte marks it as binary."""

_PIPE_SECONDS = 30.0
_ZSTD_MAX_WINDOW_LOG = 31
"""Large text collections are often compressed with `zstd --long=31`."""
_ZSTD_STEP = 1024
"""Compressed bytes per step: four can expand to 128 KiB, so this keeps a hostile file's blocks below 32 MiB."""
_MEMBER_STEP = 1 << 16
_MEMBER_PIECE = BLOCK_BYTES >> 2


_RESTORE = "fetch or write the file again"


class _Decompressor(Protocol):
    """What `bz2.BZ2Decompressor` and `lzma.LZMADecompressor` have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


def read_blocks(
    file: CorpusFile, *, tell: Callable[[int], None] = lambda _: None
) -> Generator[bytes, None, None]:
    """Yield the decompressed bytes of a file in blocks of about 1 MiB; the file stays open until the end, or `close`.

    Args:
        file: any file but Parquet.
        tell: called before each block with the position in the file on disk.

    Raises:
        CorpusError: the file cannot be read, or its compressed data is truncated or damaged.
        BackendUnavailableError: a `.zst` file, and zstandard is not installed.
    """
    if file.compression == "zst":
        require_zstd(file.name)
    try:
        if file.is_stdin:
            if sys.stdin is None:
                raise CorpusError(f"{STDIN}: standard input is closed", hint="name a file")
            yield from _blocks(sys.stdin.buffer.read)
            return
        with _opened(file) as stream:
            begin = 0
            if file.span is not None:
                begin, end = bounds_of(stream, file.span)
                blocks = _blocks_between(stream, begin, end)
            elif file.compression is None:
                blocks = _blocks(stream.read)
            else:
                _check_magic(file.compression, stream.peek(8), file.name)
                blocks = _decompressed(file.compression, stream)
            for block in blocks:
                if not file.stream:
                    tell(stream.tell() - begin)
                yield block
            if not file.stream and file.url is None:
                size = file.size if file.span is None else file.span.size
                refuse_shorter(file.name, stream.fileno(), size=size)
    except EOFError:
        raise _cut_off(file.name) from None
    except (OSError, zlib.error, lzma.LZMAError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise unreadable(file.name, error) from error
        raise CorpusError(f"{file.name}: its compressed data is damaged ({error})", hint=_RESTORE) from None


def bounds_in(file: CorpusFile) -> tuple[int, int]:
    """Return the start and end of a file's span in its bytes. Raises `CorpusError`."""
    assert file.span is not None
    try:
        with _opened(file) as stream:
            return bounds_of(stream, file.span)
    except OSError as error:
        raise unreadable(file.name, error) from error


def head_of(file: CorpusFile) -> bytes:
    """Return the first `HEAD_BYTES` bytes on disk, also of a file that is read in parts. Raises `CorpusError`."""
    try:
        with _opened(file) as stream:
            return stream.read(HEAD_BYTES)
    except OSError as error:
        raise unreadable(file.name, error) from error


def line_ends_counted(blocks: Iterable[bytes], counts: dict[str, int], name: str) -> Iterator[bytes]:
    """Yield the blocks unchanged, adding their line ends to `counts[name]`."""
    counts[name] = 0
    for block in blocks:
        counts[name] += block.count(b"\n")
        yield block


def looks_binary(file: CorpusFile) -> bool:
    """Whether a file has a NUL byte within its first 8 KiB, or is a Git LFS pointer, as to a picture.

    False for one that fails, as reading it will raise.
    """
    head = b""
    try:
        with closing(read_blocks(file)) as blocks:
            for block in blocks:
                head += block[:HEAD_BYTES]
                if len(head) >= HEAD_BYTES:
                    break
    except (CorpusError, BackendUnavailableError):
        return False
    return b"\0" in head[:HEAD_BYTES] or head.startswith(LFS_POINTER)


def require_zstd(name: str) -> None:
    """Raise `BackendUnavailableError` if `.zst` files cannot be read."""
    if sys.version_info < (3, 14) and find_spec("zstandard") is None:
        raise BackendUnavailableError(
            f"{name}: .zst files need the package zstandard", hint="pip install 'tokbench[zstd]'"
        )


def _opened(file: CorpusFile) -> BufferedReader:
    """Open a file for reading. Raises `CorpusError` for a path that is no longer a file, or a pipe without a writer."""
    if file.url is not None:
        return place_of(file.url).open()
    if file.stream:
        is_pipe = stat.S_ISFIFO(file.path.stat().st_mode)
        return _opened_pipe(file) if is_pipe else file.path.open("rb")
    try:
        return open_regular(file.path)
    except ModelFormatError as error:
        raise CorpusError(f"{file.name}: it is {error.found} now, not a file", hint=_RESTORE) from None


def _opened_pipe(file: CorpusFile) -> BufferedReader:
    """Open a pipe, waiting for a writer for a limited time."""
    opened: list[int] = []

    def wait() -> None:
        opened.append(os.open(file.path, os.O_RDONLY))

    waiting = Thread(target=wait, daemon=True)
    waiting.start()
    waiting.join(_PIPE_SECONDS)
    if waiting.is_alive():
        os.close(os.open(file.path, os.O_WRONLY | os.O_NONBLOCK))  # unblocks the waiting thread
        waiting.join()
        for descriptor in opened:
            os.close(descriptor)
        raise CorpusError(f"{file.name}: a pipe without a writer", hint="start its writer, or name a file")
    if not opened:  # opening failed in the thread: raise the same error here
        return file.path.open("rb")
    return os.fdopen(opened[0], "rb")


def _blocks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    return iter(lambda: read(BLOCK_BYTES), b"")


def _blocks_between(stream: BinaryIO, begin: int, end: int) -> Iterator[bytes]:
    stream.seek(begin)
    left = end - begin
    while left > 0 and (block := stream.read(min(left, BLOCK_BYTES))):
        left -= len(block)
        yield block


def _check_magic(compression: Compression, head: bytes, name: str) -> None:
    if not head:
        raise _cut_off(name)
    if not head.startswith(MAGIC[compression]):
        raise CorpusError(
            f"{name}: not .{compression} data (it starts with the bytes {head[:6].hex(' ')})",
            hint="rename it if it is not compressed, or fetch it again",
        )


def _cut_off(name: str) -> CorpusError:
    return CorpusError(f"{name}: its compressed data is cut off", hint=_RESTORE)


def _decompressed(compression: Compression, stream: BinaryIO) -> Iterator[bytes]:
    match compression:
        case "gz":
            return _blocks(gzip.GzipFile(fileobj=stream).read)
        case "bz2":
            return _in_blocks(_member_pieces(stream, bz2.BZ2Decompressor))
        case "xz":
            members = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ)
            return _in_blocks(_member_pieces(stream, members, padding=b"\0"))
        case "zst":
            return _zstd_blocks(stream)


def _member_pieces(
    stream: BinaryIO, new_member: Callable[[], _Decompressor], *, padding: bytes = b""
) -> Iterator[bytes]:
    """Yield the data of all members of a file.

    Python's own readers of .bz2 and .xz end silently at a member whose beginning is damaged, and leave out the rest.

    Args:
        stream: the compressed bytes.
        new_member: returns the decompressor of one member.
        padding: the byte that may be repeated after a member.

    Raises:
        EOFError: a member is cut off.
        OSError, lzma.LZMAError: a member is damaged, or something else follows one.
    """
    packed = stream.read(_MEMBER_STEP)
    while packed:
        member = new_member()
        while not member.eof:
            packed = packed or (stream.read(_MEMBER_STEP) if member.needs_input else b"")
            if not packed and member.needs_input:
                raise EOFError
            yield member.decompress(packed, _MEMBER_PIECE)
            packed = b""
        packed = member.unused_data.lstrip(padding)
        while not packed and (read := stream.read(_MEMBER_STEP)):
            packed = read.lstrip(padding)


def _in_blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Join pieces to blocks of about 1 MiB."""
    block = bytearray()
    for piece in pieces:
        block += piece
        if len(block) >= BLOCK_BYTES:
            yield bytes(block)
            block.clear()
    if block:
        yield bytes(block)


if sys.version_info >= (3, 14):

    def _zstd_blocks(stream: BinaryIO) -> Iterator[bytes]:
        from compression import zstd

        options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _ZSTD_MAX_WINDOW_LOG}
        try:
            yield from _blocks(zstd.ZstdFile(stream, options=options).read)
        except zstd.ZstdError as error:
            raise OSError(str(error)) from None

else:

    def _zstd_blocks(stream: BinaryIO) -> Iterator[bytes]:
        import zstandard

        try:
            yield from _in_blocks(_zstd_pieces(stream))
        except zstandard.ZstdError as error:
            raise OSError(str(error)) from None

    def _zstd_pieces(stream: BinaryIO) -> Iterator[bytes]:
        """Yield the data of all frames. Raises EOFError for a truncated frame, which zstandard's reader hides."""
        import zstandard

        decompressor = zstandard.ZstdDecompressor(max_window_size=1 << _ZSTD_MAX_WINDOW_LOG)
        frame = None
        while packed := stream.read(_ZSTD_STEP):
            while packed:
                frame = frame or decompressor.decompressobj()
                yield frame.decompress(packed)
                packed = frame.unused_data
                if frame.eof:
                    frame = None
        if frame is not None:
            raise EOFError


def packed(name: str, texts: Iterable[str]) -> Iterator[ByteSource]:
    """Yield documents as byte sources: documents of one line share sources of about 1 MiB, others have their own."""
    lines: list[bytes] = []
    size = 0
    for text in texts:
        is_line = "\n" not in text and not text.endswith("\r") and not text.isspace()
        if is_line:
            lines.append(text.encode())
            size += len(lines[-1])
        if lines and (size >= BLOCK_BYTES or not is_line):
            yield ByteSource(name, None, [b"\n".join(lines)], "lines")
            lines.clear()
            size = 0
        if not is_line:
            yield ByteSource(name, None, [text.encode()], "file")
    if lines:
        yield ByteSource(name, None, [b"\n".join(lines)], "lines")
