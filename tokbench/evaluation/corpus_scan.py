"""Facts collected about a corpus, or about one part of it, while it is read: fingerprint, groups, sample lines."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tokbench.core.documents import LineIdentity, TextIdentity
from tokbench.core.json_fields import Fields
from tokbench.core.progress import files_read, known_bytes
from tokbench.corpus.fingerprint import Fingerprint, Lines
from tokbench.corpus.text import Problems
from tokbench.errors import CorpusError
from tokbench.evaluation.fidelity import Stability
from tokbench.evaluation.units import AlignedLines, lines_of
from tokbench.files.untrusted_json import load_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from tokbench.corpus import Document
    from tokbench.corpus.corpus import Corpus
    from tokbench.evaluation.units import Alignment

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


SCHEMA = "tokbench.notes/1"
_HINT = "delete the file; --resume reads the part again"


@dataclass(frozen=True, slots=True)
class PartNotes:
    """Notes on one part of a corpus.

    Attributes:
        documents: number of documents.
        num_bytes: UTF-8 bytes of the documents.
        identity: identity of the documents, and of the lines if requested.
        groups: group → its first non-blank lines.
        parallel_lines: group of translations → number of its lines.
        file_lines: for each file of the part, the number of lines read from it; 0 for a file that is not cut.
        problems: counts of the problems that reading tolerated.
    """

    documents: int
    num_bytes: int
    identity: TextIdentity
    groups: Mapping[str, tuple[str, ...]]
    parallel_lines: Mapping[str, int]
    file_lines: tuple[int, ...]
    problems: Problems

    def dump(self, facts: Mapping[str, Any]) -> bytes:
        """Return the bytes of the notes' file, with additional facts."""
        lines = self.identity.lines
        document = {
            **facts,
            "schema": SCHEMA,
            "documents": self.documents,
            "bytes": self.num_bytes,
            "fingerprint": self.identity.fingerprint,
            "sample": list(self.identity.sample),
            "lines": None if lines is None else [lines.fingerprint, *lines.sample],
            "groups": {group: list(found) for group, found in self.groups.items()},
            "parallel_lines": dict(self.parallel_lines),
            "file_lines": list(self.file_lines),
            "problems": asdict(self.problems),
        }
        return json.dumps(document, sort_keys=True).encode()


def read_notes(data: bytes, *, path: str) -> tuple[PartNotes, dict[str, Any]]:
    """Return the notes of a file, and all its fields. Raises `ModelFormatError`."""
    fields = Fields.of(load_json(data, path=path, hint=_HINT), path=Path(path), hint=_HINT)
    fields.choice("schema", (SCHEMA,))
    groups = fields.inner("groups")
    parallel = fields.inner("parallel_lines")
    problems = fields.inner("problems")
    fingerprint, *sample = fields.optional("lines", fields.texts) or [""]
    counted = fields.values.get("file_lines")
    if not isinstance(counted, list) or not all(isinstance(number, int) for number in counted):
        raise fields.wrong("file_lines", "a list of numbers")
    lines = LineIdentity(fingerprint, tuple(sample)) if fingerprint else None
    notes = PartNotes(
        documents=fields.count("documents"),
        num_bytes=fields.count("bytes"),
        identity=TextIdentity(fields.sha256("fingerprint"), tuple(fields.texts("sample")), lines),
        groups={group: tuple(groups.texts(group)) for group in groups.values},
        parallel_lines={group: parallel.count(group) for group in parallel.values},
        file_lines=tuple(counted),
        problems=Problems(
            **{name: problems.count(name) for name in Problems().counters()}, group=problems.text("group")
        ),
    )
    return notes, dict(fields.values)


def notes_of(corpus: Corpus, *, parallel: Collection[str], with_lines: bool) -> PartNotes:
    """Read a part of a corpus, and take notes.

    Args:
        corpus: the part.
        parallel: groups of translations.
        with_lines: whether to identify lines as well.

    Raises:
        CorpusError: a file cannot be read.
    """
    scan = CorpusScan(documents_in(corpus))
    if with_lines:
        scan.note_lines()
    counted = lines_of(scan, parallel)
    return notes_from(scan, corpus, parallel_lines=counted, with_lines=with_lines)


def notes_from(
    scan: CorpusScan, corpus: Corpus, *, parallel_lines: Mapping[str, int], with_lines: bool
) -> PartNotes:
    """Return the notes of a part from a scan that has read it. Raises `CorpusError`."""
    return PartNotes(
        documents=scan.num_documents,
        num_bytes=scan.text_bytes or 0,
        identity=replace(scan.identity, lines=scan.lines_read) if with_lines else scan.identity,
        groups=scan.lines,
        parallel_lines=parallel_lines,
        file_lines=tuple((corpus.line_ends or {}).get(file.name, 0) for file in corpus.files),
        problems=corpus.problems,
    )


def documents_in(corpus: Corpus) -> Iterator[Document]:
    """Yield the documents of a part, which may be empty because other parts have documents. Raises `CorpusError`."""
    try:
        yield from corpus.documents()
    except CorpusError as error:
        if error.message != corpus.no_document().message:
            raise


@dataclass(frozen=True, slots=True)
class KnownCorpus:
    """The facts that `CorpusScan` provides, for a corpus that was read in parts.

    Attributes:
        identity: identity of the documents.
        lines: group → its first non-blank lines.
        beginning: the first texts, about a million characters in total; the last one is truncated.
        parallel_lines: group of translations → number of its lines.
    """

    identity: TextIdentity
    lines: Mapping[str, tuple[str, ...]]
    beginning: tuple[str, ...]
    parallel_lines: Mapping[str, int]

    @property
    def lines_read(self) -> LineIdentity:
        """Identity of the lines, which must have been requested when the parts were read."""
        assert self.identity.lines is not None
        return self.identity.lines


def joined_notes(notes: Sequence[PartNotes], documents: Iterable[Document]) -> KnownCorpus:
    """Join the notes of all parts, in order, into the facts about the whole corpus.

    Args:
        notes: the notes of the parts.
        documents: the documents of the whole corpus, of which the first ones are read.
    """
    fingerprint, lines = Fingerprint(), Lines()
    groups: dict[str, tuple[str, ...]] = {}
    parallel: Counter[str] = Counter()
    for part in notes:
        fingerprint.join(part.identity, documents=part.documents, num_bytes=part.num_bytes)
        if part.identity.lines is not None:
            lines.join(part.identity.lines)
        for group, found in part.groups.items():
            groups[group] = (*groups.get(group, ()), *found)[:LINES_OF_GROUP]
        parallel.update(part.parallel_lines)
    identity = fingerprint.identity()
    if all(part.identity.lines is not None for part in notes):
        identity = replace(identity, lines=lines.identity())
    return KnownCorpus(identity, groups, tuple(_beginning(documents)), dict(parallel))


def _beginning(documents: Iterable[Document]) -> Iterator[str]:
    left = BEGINNING_CHARACTERS
    for document in documents:
        yield document.text[:left]
        left -= min(len(document.text), left)
        if not left:
            return


def all_problems(notes: Sequence[PartNotes]) -> Problems:
    """Add up the problems that reading the parts tolerated."""
    group = next((part.problems.group for part in notes if part.problems.group), "")
    return replace(Problems.total(part.problems.counters() for part in notes), group=group)


def num_checked(parts: Iterable[Iterable[Document]], alignment: Alignment | None) -> Iterator[int]:
    """Yield the number of documents of each part that are encoded a second time.

    These are the documents that begin in the first megabytes of the whole corpus.

    Args:
        parts: the documents of each part in order; only as many as needed are read.
        alignment: if not None, each aligned line counts as a document.
    """
    stability = Stability()
    for part in parts:
        yield 0 if stability.is_over else sum(map(int, _chosen(part, alignment, stability)))


def _chosen(part: Iterable[Document], alignment: Alignment | None, stability: Stability) -> Iterator[bool]:
    for document in part if alignment is None else AlignedLines(part, alignment):
        yield bool(stability.chosen([document])[0])
        if stability.is_over:
            return
