"""Find text that is dangerous for a tokenizer."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.progress import no_progress, watched
from tokbench.lint.findings import Severity, counted_by_severity
from tokbench.lint.text_checks import REMEDIES, TextChecks
from tokbench.workbench.open import find_and_open

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.core.interfaces import TokenizerInfo
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.lint.text_checks import Danger
    from tokbench.opening.request import OpenRequest

_PLACES = 8
"""Number of places of a check in a document that are kept; all are counted."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a document.

    Attributes:
        start: index of its first character.
        end: index after its last character.
        line: line number, from 1.
        column: column in characters, from 1.
        evidence: a description of the text at this place.
    """

    start: int
    end: int
    line: int
    column: int
    evidence: str


@dataclass(frozen=True, slots=True)
class TextFinding:
    """The findings of one check in a document.

    Attributes:
        check: the name of the check.
        severity: the highest severity among the places.
        document: the number of the document, from 0.
        source: name of the document: a file, or "data.jsonl:17" for the record in line 17.
        count: number of places.
        places: the first places.
    """

    check: str
    severity: Severity
    document: int
    source: str
    count: int
    places: tuple[Place, ...]

    @property
    def remedy(self) -> str:
        """The advice on how to fix it."""
        return REMEDIES[self.check]

    def to_json(self) -> dict[str, Any]:
        """Return this part of the JSON document."""
        return {**asdict(self), "remedy": self.remedy}


@dataclass(frozen=True, slots=True)
class TextLint:
    """Dangerous text in the documents of a corpus.

    Attributes:
        info: the tokenizer.
        documents: number of documents read.
        findings: the findings by document, in the order of checks.
    """

    info: TokenizerInfo
    documents: int
    findings: tuple[TextFinding, ...]

    @property
    def flagged(self) -> int:
        """Number of documents with a finding."""
        return len({finding.document for finding in self.findings})

    @property
    def by_severity(self) -> dict[Severity, int]:
        """Number of findings of each severity, the most severe first."""
        return counted_by_severity(self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
        return {
            "schema": "tokbench.lint.text/1",
            "name": self.info.name,
            "documents": self.documents,
            "flagged": self.flagged,
            "counts": {severity.value: number for severity, number in self.by_severity.items()},
            "checks": dict(Counter(finding.check for finding in self.findings)),
            "findings": [finding.to_json() for finding in self.findings],
        }


def lint_text(
    name: str, corpus: Corpus, *, request: OpenRequest, progress: Progress = no_progress
) -> TextLint:
    """Find text in the documents of a corpus that is dangerous for the tokenizer of a name.

    Args:
        name: the tokenizer, as `-t` takes it.
        corpus: the documents.
        request: how to open the tokenizer.
        progress: called with how far the corpus is read.

    Raises:
        StoreError, ModelFormatError, ConfigError: the tokenizer cannot be opened.
        CorpusError: the corpus cannot be read.
    """
    tokenizer = find_and_open(name, request, progress=progress).tokenizer
    checks = TextChecks(tokenizer.info.special_tokens)
    findings: list[TextFinding] = []
    number = -1
    documents = watched(corpus.documents(), corpus, phase="checking", progress=progress)
    for number, document in enumerate(documents):
        findings.extend(_findings(checks, document.text, number=number, source=document.source))
    return TextLint(info=tokenizer.info, documents=number + 1, findings=tuple(findings))


def _findings(checks: TextChecks, text: str, *, number: int, source: str) -> Iterator[TextFinding]:
    by_check: dict[str, list[Danger]] = {}
    for danger in checks.dangers(text):
        by_check.setdefault(danger.check, []).append(danger)
    for check, dangers in by_check.items():
        yield TextFinding(
            check=check,
            severity=max((danger.severity for danger in dangers), key=list(Severity).index),
            document=number,
            source=source,
            count=len(dangers),
            places=tuple(_place(text, danger) for danger in dangers[:_PLACES]),
        )


def _place(text: str, danger: Danger) -> Place:
    line_start = text.rfind("\n", 0, danger.start) + 1
    return Place(
        start=danger.start,
        end=danger.end,
        line=text.count("\n", 0, danger.start) + 1,
        column=danger.start - line_start + 1,
        evidence=danger.evidence,
    )
