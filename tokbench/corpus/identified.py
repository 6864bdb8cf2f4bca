"""Documents that are identified while a backend reads them, so that they are read once."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from queue import Queue
from threading import Event, Thread
from time import sleep
from typing import TYPE_CHECKING

from tokbench.core.documents import GroupedDocuments
from tokbench.core.progress import files_read, known_bytes
from tokbench.corpus.bytes import BLOCK_BYTES
from tokbench.corpus.fingerprint import Fingerprint, Lines, whole_lines
from tokbench.corpus.paths import unreadable
from tokbench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.core.documents import ByteDocuments, ByteSource, GroupedText, TextIdentity

_BETWEEN_LOOKS = 0.0005  # seconds
_MOST_BLOCKS = 16
"""That wait to be hashed: reading waits for hashing then, so that memory does not grow with the text."""


class IdentifiedDocuments:
    """Other documents, whose identity is known once they were read to their end.

    Plain files are read here, block by block: another thread hashes a block while the backend has it.
    """

    def __init__(self, documents: ByteDocuments) -> None:
        """Nothing is read yet.

        Args:
            documents: those that are read.
        """
        self._documents = documents
        self._identity: TextIdentity | None = None
        self._read_here = 0
        """Bytes of the plain file that is being read."""

    @property
    def num_bytes(self) -> int:
        """As of the documents."""
        return self._documents.num_bytes

    @property
    def text_bytes(self) -> int | None:
        """As of the documents."""
        return known_bytes(self._documents)

    @property
    def files_read(self) -> tuple[int, int] | None:
        """How far the files are read, as `tokbench.core.progress.files_read` tells it."""
        found = files_read(self._documents)
        return found and (min(found[0] + self._read_here, found[1]), found[1])

    def identity(self) -> TextIdentity:
        """Which documents these are; read once more only where they were not read to their end."""
        return self._identity or self._documents.identity()

    def __iter__(self) -> Iterator[str]:
        """The documents as strings. Raises `CorpusError`."""
        notes = _Notes()
        for text in self._documents:
            notes.add_document(text)
            yield text
        self._identity = notes.identity()

    def documents(self) -> Iterator[GroupedText]:
        """The documents with their groups. Raises `CorpusError`, and `ConfigError` where they have none."""
        if not isinstance(self._documents, GroupedDocuments):
            raise ConfigError("the text has no groups", hint="train on files, as open_corpus opens them")
        notes = _Notes()
        for document in self._documents.documents():
            notes.add_document(document.text)
            yield document
        self._identity = notes.identity()

    def byte_sources(self) -> Iterator[ByteSource]:
        """The same documents as blocks of bytes. Raises `CorpusError`."""
        notes = _Notes()
        with _hashing(notes) as blocks_to_hash:
            for source in self._documents.byte_sources():
                blocks_to_hash.put(source.documents)
                yield replace(source, path=None, blocks=self._handed_on(source, blocks_to_hash))
                blocks_to_hash.put(None)
                self._read_here = 0
        self._identity = notes.identity()

    def _handed_on(self, source: ByteSource, blocks_to_hash: Queue[bytes | str | None]) -> Iterator[bytes]:
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
        except OSError as error:
            raise unreadable(source.name, error) from None


class _Notes:
    """What is noted of documents that go by."""

    def __init__(self) -> None:
        self._fingerprint, self._lines = Fingerprint(), Lines()
        self._is_whole = True

    def add_document(self, text: str) -> None:
        self._fingerprint.update(text)
        self._lines.update(text)

    def add_source(self, blocks: Iterable[bytes], documents: str) -> None:
        """Note the documents of a source; where its bytes are not UTF-8, there is no identity."""
        try:
            if documents == "file":
                self._fingerprint.update_blocks(self._lines.watch_blocks(blocks))
            else:
                for lines in whole_lines(blocks):
                    self._lines.update(lines)
                    self._fingerprint.update_lines(lines)
        except Exception:  # what it is, the reader finds out: this thread must go on to take blocks
            self._is_whole = False

    def identity(self) -> TextIdentity | None:
        if not self._is_whole:
            return None
        return replace(self._fingerprint.identity(), lines=self._lines.identity())


@contextmanager
def _hashing(notes: _Notes) -> Iterator[Queue[bytes | str | None]]:
    """A queue from which another thread takes sources: the kind of documents, the blocks, and None for the end."""
    queue: Queue[bytes | str | None] = Queue(_MOST_BLOCKS)
    ended = Event()

    def work() -> None:
        try:
            while isinstance(documents := queue.get(), str):
                blocks: Iterator[bytes] = iter(queue.get, None)  # type: ignore[arg-type]
                notes.add_source(blocks, documents)
                for _ in blocks:  # what comes after a byte that is not UTF-8
                    pass
        finally:
            ended.set()

    thread = Thread(target=work, name="identity of the text", daemon=True)
    thread.start()
    try:
        yield queue
    except BaseException:
        _let_end(queue, ended)
        raise
    if (interrupt := _let_end(queue, ended)) is not None:
        raise interrupt


def _let_end(queue: Queue[bytes | str | None], ended: Event) -> KeyboardInterrupt | None:
    """End the work on a queue, whatever interrupts that; the last interrupt is returned.

    A thread that is in the kernel when the interpreter ends would end the process with an abort. It is not joined, as
    an interrupt makes CPython's `join` take it for ended, nor waited for by a lock, which one may leave taken.
    """
    interrupt = None
    ends = 2  # one ends a source that was left in its middle
    while True:
        try:
            while ends:
                queue.put(None)
                ends -= 1
            while not ended.is_set():
                sleep(_BETWEEN_LOOKS)
            return interrupt
        except KeyboardInterrupt as error:
            interrupt = error
