"""Notes on a corpus, made part by part: the identity of its documents, their groups, sample lines, line counts."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.core.documents import LineIdentity, TextIdentity
from tokbench.core.json_fields import Fields
from tokbench.corpus.fingerprint import Fingerprint, Lines
from tokbench.corpus.text import Problems
from tokbench.errors import CorpusError
from tokbench.evaluation.alignment import AlignedLines, lines_of
from tokbench.evaluation.corpus_scan import BEGINNING_CHARACTERS, LINES_OF_GROUP, CorpusScan
from tokbench.evaluation.fidelity import Stability
from tokbench.files.untrusted import load_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from tokbench.corpus import Document
    from tokbench.corpus.corpus import Corpus
    from tokbench.evaluation.alignment import Alignment

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
