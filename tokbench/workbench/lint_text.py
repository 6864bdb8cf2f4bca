"""Find what in a text is dangerous for a tokenizer."""

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
"""Places of a check in a document that are kept; all are counted."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is in a document.

    Attributes:
        start: its first character, counted from 0.
        end: after its last one.
        line: counted from 1.
        column: in characters, counted from 1.
        evidence: what was seen.
    """

    start: int
    end: int
    line: int
    column: int
    evidence: str


@dataclass(frozen=True, slots=True)
class TextFinding:
    """What one check found in a document.

    Attributes:
        check: its name.
        severity: of the gravest of them.
        document: the number of the document, counted from 0.
        source: what it is called: a file, or "data.jsonl:17" for the record in its line 17.
        count: how often it is there.
        places: the first of them.
    """

    check: str
    severity: Severity
    document: int
    source: str
    count: int
    places: tuple[Place, ...]

    @property
    def remedy(self) -> str:
        """What to do."""
        return REMEDIES[self.check]

    def to_json(self) -> dict[str, Any]:
        """As a part of `--json`."""
        return {
            "check": self.check,
            "severity": self.severity.value,
            "document": self.document,
            "source": self.source,
            "count": self.count,
            "places": [asdict(place) for place in self.places],
            "remedy": self.remedy,
        }


@dataclass(frozen=True, slots=True)
class TextLint:
    """What is dangerous in the documents of a text.

    Attributes:
        info: the tokenizer.
        documents: how many were read.
        findings: by document, in its order of checks.
    """

    info: TokenizerInfo
    documents: int
    findings: tuple[TextFinding, ...]

    @property
    def flagged(self) -> int:
        """How many documents have a finding."""
        return len({finding.document for finding in self.findings})

    @property
    def by_severity(self) -> dict[Severity, int]:
        """How many findings there are of each severity, the most severe first."""
        return counted_by_severity(self.findings)

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
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
    """Find what in the documents of a corpus is dangerous for the tokenizer of a name.

    Args:
        name: what `-t` takes.
        corpus: the documents.
        request: how the tokenizer is opened.
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
