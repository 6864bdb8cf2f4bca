"""Documents as bytes, which a backend may read instead of strings, and the identity of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


@runtime_checkable
class ByteDocuments(Protocol):
    """Documents that can also be had as UTF-8 bytes, without a Python string for each.

    A backend that reads bytes natively asks for these; every other one iterates strings.
    """

    def __iter__(self) -> Iterator[str]:
        """The documents as strings."""

    @property
    def num_bytes(self) -> int:
        """Their size, as far as it is known before they are read: for progress."""

    def identity(self) -> TextIdentity:
        """Identifies the documents. Raises `CorpusError` for what is read only once."""

    def byte_sources(self) -> Iterator[ByteSource]:
        """The same documents as files or blocks of bytes, in the same order; each is used before the next."""


class GroupedText(Protocol):
    """A text that belongs to a group."""

    @property
    def text(self) -> str:
        """The document."""

    @property
    def group(self) -> str:
        """A language, a script, or whatever else documents are grouped by."""


@runtime_checkable
class GroupedDocuments(Protocol):
    """Documents that tell their groups, for training that treats groups differently."""

    def documents(self) -> Iterator[GroupedText]:
        """The documents with their groups. Raises `CorpusError`."""


@dataclass(frozen=True, slots=True)
class ByteSource:
    """Bytes that hold one or more whole documents.

    Attributes:
        name: what error messages call it.
        path: a plain file to be read and checked as it is, or None.
        blocks: where `path` is None, the UTF-8 bytes in order, cut anywhere.
        documents: how the bytes fall into documents: "file" (one), or "lines" (without their ends, blank
            ones left out).
    """

    name: str
    path: Path | None
    blocks: Iterable[bytes] | None
    documents: str


@dataclass(frozen=True, slots=True)
class TextIdentity:
    """Which documents a text is made of, whatever their order.

    Attributes:
        fingerprint: of all of them; see `tokbench.corpus.Fingerprint`.
        sample: the hashes of some documents, 16 hexadecimal digits each, ascending: of all that occur
            the smallest, so that two texts with documents in common have them in common here too.
        lines: which lines these are, whatever the documents; None where that is not known.
    """

    fingerprint: str
    sample: tuple[str, ...]
    lines: LineIdentity | None = None


@dataclass(frozen=True, slots=True)
class LineIdentity:
    """Which lines a text is made of, whatever their order and the documents that they are in.

    Attributes:
        fingerprint: of all of them; see `tokbench.corpus.fingerprint.Lines`.
        sample: the hashes of some, 10 hexadecimal digits each, ascending.
    """

    fingerprint: str
    sample: tuple[str, ...]
