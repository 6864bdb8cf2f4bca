"""Documents as bytes, which a backend may read instead of strings, and the identity of a text."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tokbench.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


@runtime_checkable
class ByteDocuments(Protocol):
    """Documents that are also available as UTF-8 bytes, without a Python string for each.

    A backend that reads bytes natively uses the bytes; every other backend iterates over the strings.
    """

    def __iter__(self) -> Iterator[str]:
        """Iterate over the documents as strings."""

    @property
    def num_bytes(self) -> int:
        """Their size in bytes, as far as it is known before reading; used for progress."""

    def identity(self) -> TextIdentity:
        """Return the identity of the documents. Raises `CorpusError` for documents that can be read only once."""

    def byte_sources(self) -> Iterator[ByteSource]:
        """Yield the same documents in the same order as files or blocks of bytes; read each one before the next."""


class GroupedText(Protocol):
    """A text that belongs to a group."""

    @property
    def text(self) -> str:
        """The document."""

    @property
    def group(self) -> str:
        """A language, a script, or another group of documents."""


@runtime_checkable
class GroupedDocuments(Protocol):
    """Documents with known groups, for training that treats groups differently."""

    def documents(self) -> Iterator[GroupedText]:
        """Yield the documents with their groups. Raises `CorpusError`."""


@dataclass(frozen=True, slots=True)
class ByteSource:
    """Bytes that hold one or more whole documents.

    Attributes:
        name: the name in error messages.
        path: a plain file to read and check as it is, or None.
        blocks: where `path` is None, the UTF-8 bytes in order, cut at any position.
        documents: how the bytes divide into documents: "file" (one document), or "lines" (without line ends;
            blank lines are left out).
        size: the size of the file at `path` when the documents were opened; None if it is not known.
    """

    name: str
    path: Path | None
    blocks: Iterable[bytes] | None
    documents: str
    size: int | None = None


def refuse_shorter(name: str, descriptor: int, *, size: int | None) -> None:
    """Raise `CorpusError` if a file that was read has become shorter: its end is not the end of its text.

    Args:
        name: its name in the message.
        descriptor: the open file.
        size: its size when it was opened as a text; None if it is not known.
    """
    if size is not None and os.fstat(descriptor).st_size < size:
        raise CorpusError(
            f"{name} changed while it was read: it is shorter now",
            hint="start again when no other program writes to it",
        )


@dataclass(frozen=True, slots=True)
class TextIdentity:
    """The identity of a text's documents, regardless of their order.

    Attributes:
        fingerprint: the fingerprint of all documents; see `tokbench.corpus.Fingerprint`.
        sample: the smallest hashes of the documents, 16 hexadecimal digits each, ascending; two texts with
            documents in common are likely to share hashes here.
        lines: the identity of its lines, regardless of the documents; None if it is not known.
    """

    fingerprint: str
    sample: tuple[str, ...]
    lines: LineIdentity | None = None


@dataclass(frozen=True, slots=True)
class LineIdentity:
    """The identity of a text's lines, regardless of their order and of the documents that contain them.

    Attributes:
        fingerprint: the fingerprint of all lines; see `tokbench.corpus.fingerprint.Lines`.
        sample: hashes of some lines, 10 hexadecimal digits each, ascending.
    """

    fingerprint: str
    sample: tuple[str, ...]
