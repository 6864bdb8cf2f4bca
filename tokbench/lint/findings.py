"""What rules report: findings, and how grave they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Severity(StrEnum):
    """How grave a finding is, from the mildest on.

    >>> Severity.ERROR.reaches(Severity.WARNING), Severity.NOTE.reaches(Severity.WARNING)
    (True, False)
    """

    NOTE = "note"
    """Worth knowing; nothing breaks by itself."""
    WARNING = "warning"
    """Wastes capacity, or breaks in a use that is not rare."""
    ERROR = "error"
    """Gives wrong ids or loses text."""

    def reaches(self, other: Severity) -> bool:
        """Whether it is as grave as another one."""
        grades = list(Severity)
        return grades.index(self) >= grades.index(other)


class HasSeverity(Protocol):
    """A finding, of whatever kind."""

    @property
    def severity(self) -> Severity:
        """How grave it is."""


def counted_by_severity(findings: Iterable[HasSeverity]) -> dict[Severity, int]:
    """How many findings there are of each severity, the gravest first."""
    severities = [finding.severity for finding in findings]
    return {severity: severities.count(severity) for severity in reversed(Severity)}


def reached(findings: Iterable[HasSeverity], severity: Severity) -> bool:
    """Whether a finding is as grave as that, or graver."""
    return any(finding.severity.reaches(severity) for finding in findings)


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule's check found, before the rule's own severity and remedy are added.

    Attributes:
        subject: what it is about, in a few words: a token, a file, a field.
        evidence: what was seen that shows it, in a sentence without a full stop.
        token_ids: the tokens concerned.
        severity: where this finding is of another severity than the rule.
        remedy: where there is more to say than the rule's remedy.
        details: the same as plain data, for programs.
    """

    subject: str
    evidence: str
    token_ids: tuple[int, ...] = ()
    severity: Severity | None = None
    remedy: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule holds against a tokenizer.

    Attributes:
        rule: the rule's name.
        severity: how grave it is.
        subject: what it is about, in a few words.
        evidence: what was seen that shows it.
        remedy: what to do.
        token_ids: the tokens concerned.
        details: the evidence as plain data.
    """

    rule: str
    severity: Severity
    subject: str
    evidence: str
    remedy: str
    token_ids: tuple[int, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As a part of `--json`."""
        return {
            "rule": self.rule,
            "severity": self.severity.value,
            "subject": self.subject,
            "evidence": self.evidence,
            "remedy": self.remedy,
            "token_ids": list(self.token_ids),
            "details": dict(self.details),
        }
