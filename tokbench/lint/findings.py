"""What rules report: findings, and how grave they are; many tokens as one finding."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tokbench.lint.target import LintTarget

_APART = 3
"""Up to this many tokens have a finding each."""
_EXAMPLES = 6
_VARYING = re.compile(
    r'"(?:[^"\\]|\\.)*"(?: \([\d,]+ (?:characters|bytes)\))?'
    r"|U\+[0-9A-F]{4,6}(?: [A-Z][A-Z0-9 -]*[A-Z0-9])?"
    r"|(?<![\w+])-?\d[\d,]*(?:\.\d+)?(?!\w)"
)
_LIST = re.compile(r"…(?:(?: \+|,| and)? …)+")
_VERB = re.compile(r"^it (\w+)")
_PLURALS = {"is": "are", "has": "have"}


class Severity(StrEnum):
    """The severity of a finding, from the lowest on.

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
        """Whether it is at least as severe as another one."""
        grades = list(Severity)
        return grades.index(self) >= grades.index(other)


class HasSeverity(Protocol):
    """A finding, of whatever kind."""

    @property
    def severity(self) -> Severity:
        """The severity."""


def counted_by_severity(findings: Iterable[HasSeverity]) -> dict[Severity, int]:
    """How many findings there are of each severity, the most severe first."""
    severities = [finding.severity for finding in findings]
    return {severity: severities.count(severity) for severity in reversed(Severity)}


def reached(findings: Iterable[HasSeverity], severity: Severity) -> bool:
    """Whether a finding is at least that severe."""
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
    """One problem that a rule found in a tokenizer.

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


def findings_on_tokens(
    target: LintTarget,
    reasons: Mapping[int, str],
    *,
    of_many: str | None = None,
    severity: Severity | None = None,
    remedy: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> Iterator[Found]:
    """A finding for each token, or where more than a few have the same reason, one for these together.

    Args:
        target: what is linted.
        reasons: id → what is wrong with the token, in a sentence without a full stop. Two are the same if they
            differ in what they quote and count.
        of_many: what is said of several together, whatever their reasons.
        severity: of all, where it is not the rule's.
        remedy: of all, where it is not the rule's.
        details: of all; `reasons` has the sentence of each token.
    """
    groups: dict[str, list[int]] = {}
    for id, reason in reasons.items():
        groups.setdefault(of_many or in_general(reason), []).append(id)
    for general, ids in groups.items():
        if len(ids) <= _APART:
            for id in ids:
                yield Found(target.named(id), reasons[id], (id,), severity, remedy, details or {})
            continue
        more = " …" if len(ids) > _EXAMPLES else ""
        yield Found(
            subject=f"{len(ids):,} tokens",
            evidence=f"{general}: {', '.join(map(target.named, ids[:_EXAMPLES]))}{more}",
            token_ids=tuple(ids),
            severity=severity,
            remedy=remedy,
            details={**(details or {}), "reasons": {str(id): reasons[id] for id in ids}},
        )


def in_general(reason: str) -> str:
    """What is said of a token, as it is said of many.

    >>> in_general('no merge makes "ab": its bytes become "a" + "b"')
    'no merge makes …: its bytes become …'
    >>> in_general("it holds U+0097, U+200B ZERO WIDTH SPACE")
    'they hold …'
    """

    def plural(match: re.Match[str]) -> str:
        return f"they {_PLURALS.get(match[1]) or match[1].removesuffix('s')}"

    return _VERB.sub(plural, _LIST.sub("…", _VARYING.sub("…", reason)))
