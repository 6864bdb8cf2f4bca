"""List the texts of a corpus by group."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokbench.corpus import Corpus, Document


@dataclass(frozen=True, slots=True)
class CorpusGroup:
    """Figures of the texts of one group."""

    group: str
    kind: str | None
    title: str | None
    files: int
    documents: int
    num_bytes: int
    characters: int
    lines: int
    licence: str | None

    def to_json(self) -> dict[str, Any]:
        """Return this part of the JSON document."""
        return {
            "group": self.group,
            "kind": self.kind,
            "title": self.title,
            "files": self.files,
            "documents": self.documents,
            "bytes": self.num_bytes,
            "characters": self.characters,
            "lines": self.lines,
            "licence": self.licence,
        }


@dataclass(frozen=True, slots=True)
class CorpusResult:
    """Figures of a corpus by group, and the number of its files with a document: a file may be in several groups."""

    place: str
    groups: tuple[CorpusGroup, ...]
    files: int

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        sums = ("documents", "bytes", "characters", "lines")
        groups = [group.to_json() for group in self.groups]
        return {
            "schema": "tokbench.corpus/1",
            "place": self.place,
            "groups": groups,
            "total": {"files": self.files, **{name: sum(group[name] for group in groups) for name in sums}},
        }


def describe_bundled_corpus() -> CorpusResult:
    """Describe the bundled texts by group."""
    from tokbench.corpus import bundled_files

    groups = tuple(
        CorpusGroup(
            group=file.group,
            kind=file.kind,
            title=file.title,
            files=1,
            documents=1,
            num_bytes=file.bytes,
            characters=file.characters,
            lines=file.lines,
            licence=file.licence,
        )
        for file in bundled_files()
    )
    return CorpusResult(place="bundled with tokbench", groups=groups, files=len(groups))


def describe_corpus(corpus: Corpus, *, place: str) -> CorpusResult:
    """Describe a corpus by group, the largest first. Raises `CorpusError`."""
    groups: dict[str, CorpusGroup] = {}
    files: dict[str, set[object]] = {}
    for document in corpus.documents():
        before = groups.get(document.group) or CorpusGroup(document.group, None, None, 0, 0, 0, 0, 0, None)
        files.setdefault(document.group, set()).add(document.place and document.place[0])
        groups[document.group] = _add_document(before, document, num_files=len(files[document.group]))
    ordered = sorted(groups.values(), key=lambda group: (-group.num_bytes, group.group))
    return CorpusResult(place=place, groups=tuple(ordered), files=len(set().union(*files.values())))


def _add_document(group: CorpusGroup, document: Document, *, num_files: int) -> CorpusGroup:
    text = document.text
    return dataclasses.replace(
        group,
        files=num_files,
        documents=group.documents + 1,
        num_bytes=group.num_bytes + len(text.encode()),
        characters=group.characters + len(text),
        lines=group.lines + text.count("\n") + (not text.endswith("\n")),
    )
