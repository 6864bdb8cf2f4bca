"""Facts collected about a corpus while it is read: its fingerprint, groups, first texts and sample lines."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from tokbench.core.progress import files_read, known_bytes
from tokbench.corpus import Fingerprint
from tokbench.corpus.fingerprint import Lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tokbench.core.documents import LineIdentity, TextIdentity
    from tokbench.corpus import Document

BEGINNING_CHARACTERS = 1 << 20
LINES_OF_GROUP = 200
_COUNTED_AT_ONCE = 1 << 16
"""Number of characters whose documents are hashed together."""

_LONGEST_LINE = 400
_LINE = re.compile("[^\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")
"""Matches the non-empty lines that `str.splitlines` returns."""


class CorpusFacts(Protocol):
    """Facts about the documents that tokenizers were evaluated on."""

    @property
    def identity(self) -> TextIdentity: ...  # noqa: D102 - see `CorpusScan`, like the others

    @property
    def lines_read(self) -> LineIdentity: ...  # noqa: D102

    @property
    def beginning(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def lines(self) -> Mapping[str, tuple[str, ...]]: ...  # noqa: D102


class CorpusScan:
    r"""Documents that can be iterated any number of times; the first iteration collects facts about them.

    >>> from tokbench.corpus import Document
    >>> scan = CorpusScan([Document("one\ntwo", "en", "a.txt")])
    >>> [document.text for document in scan], scan.beginning, scan.lines
    (['one\ntwo'], ('one\ntwo',), {'en': ('one', 'two')})
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        """Wrap documents without reading them; they are iterated anew each time."""
        self._documents = documents
        self._notes: _Notes | None = None
        self._wants_lines = False

    def __iter__(self) -> Iterator[Document]:
        return self._noting() if self._notes is None else iter(self._documents)

    def note_lines(self) -> None:
        """Let the first reading count lines as well, since a later reading may not be possible."""
        self._wants_lines = True

    @property
    def text_bytes(self) -> int | None:
        """Bytes of all documents: as counted by the first reading, otherwise as known before reading."""
        return known_bytes(self._documents) if self._notes is None else self._notes.fingerprint.num_bytes

    @property
    def files_read(self) -> tuple[int, int] | None:
        """Progress of reading the documents' files; None if unknown."""
        return files_read(self._documents)

    def _noting(self) -> Iterator[Document]:
        notes = _Notes(Lines() if self._wants_lines else None)
        for document in self._documents:
            notes.add(document)
            yield document
        notes.finish()
        self._notes = notes

    @property
    def _noted(self) -> _Notes:
        if self._notes is None:
            for _ in self:
                pass
        assert self._notes is not None
        return self._notes

    @property
    def num_documents(self) -> int:
        """Number of documents."""
        return self._noted.fingerprint.documents

    @property
    def identity(self) -> TextIdentity:
        """Identity of the documents, independent of their order."""
        return self._noted.fingerprint.identity()

    @cached_property
    def lines_read(self) -> LineIdentity:
        """Identity of the lines, independent of the documents; reads the corpus again if lines were not counted."""
        self.note_lines()
        if self._noted.lines_read is not None:
            return self._noted.lines_read.identity()
        counting = Lines()
        for document in self:
            counting.update(document.text)
        return counting.identity()

    @property
    def beginning(self) -> tuple[str, ...]:
        """The first texts, about a million characters in total; the last one is truncated."""
        return tuple(self._noted.beginning)

    @property
    def groups(self) -> tuple[str, ...]:
        """Sorted names of the groups."""
        return tuple(sorted(self._noted.lines))

    @property
    def lines(self) -> dict[str, tuple[str, ...]]:
        """Group → its first non-blank lines; long lines are truncated."""
        return {group: tuple(lines) for group, lines in self._noted.lines.items()}


class _Notes:
    """The facts collected while documents are read."""

    def __init__(self, lines_read: Lines | None) -> None:
        self.fingerprint = Fingerprint()
        self.lines_read = lines_read
        self.beginning: list[str] = []
        self.lines: dict[str, list[str]] = {}
        self._characters_left = BEGINNING_CHARACTERS
        self._waiting: list[str] = []
        self._characters_waiting = 0

    def add(self, document: Document) -> None:
        self._waiting.append(document.text)
        self._characters_waiting += len(document.text)
        if self._characters_waiting >= _COUNTED_AT_ONCE:
            self.finish()
        if self._characters_left > 0:
            self.beginning.append(document.text[: self._characters_left])
            self._characters_left -= len(self.beginning[-1])
        kept = self.lines.setdefault(document.group, [])
        if len(kept) < LINES_OF_GROUP:
            kept += _first_lines(document.text, LINES_OF_GROUP - len(kept))

    def finish(self) -> None:
        """Hash the waiting texts together, which takes a third of the time for many short lines."""
        self.fingerprint.update_all(self._waiting)
        if self.lines_read is not None:
            self.lines_read.update("\n".join(self._waiting))
        self._waiting.clear()
        self._characters_waiting = 0


def _first_lines(text: str, most: int) -> list[str]:
    """Return the first non-blank lines; the rest of the text is not scanned."""
    lines = (found.group() for found in _LINE.finditer(text))
    return [line[:_LONGEST_LINE] for line in islice(filter(str.strip, lines), most)]
