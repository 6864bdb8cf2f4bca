"""Findings of rules with their severity, and the grouping of many tokens into one finding."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tokbench.lint.target import LintTarget

_APART = 3
"""Maximum number of tokens with the same reason that get a finding each."""
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
    """The severity of a finding, in ascending order.

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
        """Whether this severity is at least as high as another."""
        grades = list(Severity)
        return grades.index(self) >= grades.index(other)


class HasSeverity(Protocol):
    """A finding of any kind."""

    @property
    def severity(self) -> Severity:
        """The severity of the finding."""


def counted_by_severity(findings: Iterable[HasSeverity]) -> dict[Severity, int]:
    """Count the findings of each severity, the highest first."""
    severities = [finding.severity for finding in findings]
    return {severity: severities.count(severity) for severity in reversed(Severity)}


def reached(findings: Iterable[HasSeverity], severity: Severity) -> bool:
    """Whether any finding is at least this severe."""
    return any(finding.severity.reaches(severity) for finding in findings)


@dataclass(frozen=True, slots=True)
class Found:
    """A result of a rule's check, before the rule's own severity and remedy are added.

    Attributes:
        subject: the object of the finding in a few words: a token, a file, a field.
        evidence: the observation that proves it, in a sentence without a full stop.
        token_ids: ids of the tokens concerned.
        severity: severity of this finding; None for the rule's.
        remedy: remedy for this finding; None for the rule's.
        details: the evidence as plain data, for programs.
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
        severity: its severity.
        subject: the object of the finding in a few words.
        evidence: the observation that proves it.
        remedy: what to do.
        token_ids: ids of the tokens concerned.
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
        """Return the JSON of the finding."""
        return {**asdict(self), "severity": self.severity.value, "token_ids": list(self.token_ids)}


def findings_on_tokens(
    target: LintTarget,
    reasons: Mapping[int, str],
    *,
    of_many: str | None = None,
    severity: Severity | None = None,
    remedy: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> Iterator[Found]:
    """Yield a finding for each token, or a single one if more than a few tokens have the same reason.

    Args:
        target: the linted tokenizer.
        reasons: id → the fault of the token, in a sentence without a full stop. Reasons that differ only in quoted
            texts and numbers count as the same.
        of_many: the sentence for a group; if given, all tokens form one group, whatever their reasons.
        severity: severity of all findings; None for the rule's.
        remedy: remedy of all findings; None for the rule's.
        details: details of all findings; a group's details also have `reasons`, the sentence of each token.
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
    """Generalize a reason for one token to a reason for many.

    >>> in_general('no merge makes "ab": its bytes become "a" + "b"')
    'no merge makes …: its bytes become …'
    >>> in_general("it contains U+0097, U+200B ZERO WIDTH SPACE")
    'they contain …'
    """

    def plural(match: re.Match[str]) -> str:
        return f"they {_PLURALS.get(match[1]) or match[1].removesuffix('s')}"

    return _VERB.sub(plural, _LIST.sub("…", _VARYING.sub("…", reason)))
