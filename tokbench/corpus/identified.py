"""Documents that are fingerprinted while a backend reads them, so that they are read only once."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from queue import Queue
from threading import Event, Thread
from time import sleep
from typing import TYPE_CHECKING

from tokbench.core.documents import GroupedDocuments, refuse_shorter
from tokbench.core.progress import files_read, known_bytes
from tokbench.corpus.bytes import BLOCK_BYTES
from tokbench.corpus.fingerprint import Fingerprint, Lines, whole_lines
from tokbench.corpus.paths import unreadable
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.core.documents import ByteDocuments, ByteSource, GroupedText, TextIdentity

_POLL_SECONDS = 0.0005  # seconds
_MOST_BLOCKS = 16
"""The most blocks that wait to be hashed; then reading waits, so that memory does not grow with the text."""


class IdentifiedDocuments:
    """A wrapper of documents that knows their identity once they were read to their end.

    Plain files are read here, block by block: another thread hashes a block while the backend processes it.
    """

    def __init__(self, documents: ByteDocuments) -> None:
        """Wrap documents, without reading them.

        Args:
            documents: the documents to read.
        """
        self._documents = documents
        self._identity: TextIdentity | None = None
        self._read_here = 0
        """The bytes read from the current plain file."""

    @property
    def num_bytes(self) -> int:
        """The `num_bytes` of the wrapped documents."""
        return self._documents.num_bytes

    @property
    def text_bytes(self) -> int | None:
        """The `text_bytes` of the wrapped documents."""
        return known_bytes(self._documents)

    @property
    def files_read(self) -> tuple[int, int] | None:
        """The position in the files, as for `tokbench.core.progress.files_read`."""
        position = files_read(self._documents)
        return position and (min(position[0] + self._read_here, position[1]), position[1])

    def identity(self) -> TextIdentity:
        """Return the identity of the documents; reads them again only if they were not read to their end."""
        return self._identity or self._documents.identity()

    def __iter__(self) -> Iterator[str]:
        """Yield the documents as strings. Raises `CorpusError`."""
        notes = _IdentityBuilder()
        for text in self._documents:
            notes.add_document(text)
            yield text
        self._identity = notes.identity()

    def documents(self) -> Iterator[GroupedText]:
        """Yield the documents with their groups. Raises `CorpusError`, and `ConfigError` where they have none."""
        if not isinstance(self._documents, GroupedDocuments):
            raise ConfigError("the text has no groups", hint="train on files, as open_corpus opens them")
        notes = _IdentityBuilder()
        for document in self._documents.documents():
            notes.add_document(document.text)
            yield document
        self._identity = notes.identity()

    def byte_sources(self) -> Iterator[ByteSource]:
        """Yield the same documents as blocks of bytes. Raises `CorpusError`."""
        notes = _IdentityBuilder()
        with _hashing(notes) as blocks_to_hash:
            for source in self._documents.byte_sources():
                blocks_to_hash.put(source.documents)
                yield replace(source, path=None, blocks=self._forwarded(source, blocks_to_hash), size=None)
                blocks_to_hash.put(None)
                self._read_here = 0
        self._identity = notes.identity()

    def _forwarded(self, source: ByteSource, blocks_to_hash: Queue[bytes | str | None]) -> Iterator[bytes]:
        for block in self._blocks_of(source):
            blocks_to_hash.put(block)
            yield block

    def _blocks_of(self, source: ByteSource) -> Iterator[bytes]:
        if source.path is None:
            yield from source.blocks or ()
            return
        try:
            with source.path.open("rb", buffering=0) as file:
                while block := file.read(BLOCK_BYTES):
                    self._read_here += len(block)
                    yield block
                refuse_shorter(source.name, file.fileno(), size=source.size)
        except OSError as error:
            raise unreadable(source.name, error) from None


class _IdentityBuilder:
    """The fingerprint and lines of the documents that were read."""

    def __init__(self) -> None:
        self._fingerprint, self._lines = Fingerprint(), Lines()
        self._is_whole = True

    def add_document(self, text: str) -> None:
        self._fingerprint.update(text)
        self._lines.update(text)

    def add_source(self, blocks: Iterable[bytes], documents: str) -> None:
        """Add the documents of a source; if its bytes are not UTF-8, there is no identity."""
        try:
            if documents == "file":
                self._fingerprint.update_blocks(self._lines.watch_blocks(blocks))
            else:
                for lines in whole_lines(blocks):
                    self._lines.update(lines)
                    self._fingerprint.update_lines(lines)
        except Exception:  # the reader reports the error: this thread must continue to consume blocks
            self._is_whole = False

    def identity(self) -> TextIdentity | None:
        if not self._is_whole:
            return None
        return replace(self._fingerprint.identity(), lines=self._lines.identity())


@contextmanager
def _hashing(notes: _IdentityBuilder) -> Iterator[Queue[bytes | str | None]]:
    """Start a thread that hashes sources from a queue: the kind of documents, the blocks, and None for the end."""
    queue: Queue[bytes | str | None] = Queue(_MOST_BLOCKS)
    ended = Event()

    def work() -> None:
        try:
            while isinstance(documents := queue.get(), str):
                blocks: Iterator[bytes] = iter(queue.get, None)  # type: ignore[arg-type]
                notes.add_source(blocks, documents)
                for _ in blocks:  # what follows bytes that are not UTF-8
                    pass
        finally:
            ended.set()

    thread = Thread(target=work, name="identity of the text", daemon=True)
    thread.start()
    try:
        yield queue
    except BaseException:
        _finish(queue, ended)
        raise
    if (interrupt := _finish(queue, ended)) is not None:
        raise interrupt


def _finish(queue: Queue[bytes | str | None], ended: Event) -> KeyboardInterrupt | None:
    """End the work on a queue despite interrupts; return the last interrupt.

    A thread that runs native code when the interpreter exits would abort the process. It is not joined, since after an
    interrupt CPython's `join` takes it for ended, nor awaited by a lock, which an interrupt may leave acquired.
    """
    interrupt = None
    ends = 2  # one of them ends a source that was interrupted
    while True:
        try:
            while ends:
                queue.put(None)
                ends -= 1
            while not ended.is_set():
                sleep(_POLL_SECONDS)
            return interrupt
        except KeyboardInterrupt as error:
            interrupt = error
