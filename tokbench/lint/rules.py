"""Rules: a name, three lines of explanation, a check, and its outcome."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokbench.lint.findings import Finding, Found, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tokbench.lint.target import LintTarget

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class DoesNotApplyError(Exception):
    """A check has nothing to look at in this tokenizer; the message says why, after "skipped: "."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that can be wrong with a tokenizer, and how it is found.

    Attributes:
        name: lower-case words with hyphens, as `unreachable-token`.
        group: what `--select` takes for several rules together, as `reachability`.
        severity: of a finding that does not say another.
        breaks: what goes wrong for a user; a sentence.
        found: how it is found, and what it does not find; a sentence.
        remedy: what to do; a sentence in the imperative.
        check: yields what is wrong with a target; raises `DoesNotApplyError` where there is nothing to check.
        needs_corpus: whether it is run only where a corpus was given.
        needs_reference: whether it is run only where another tokenizer was given to compare with.
        figures: what the check counted, by name, for the result; called after the check.
    """

    name: str
    group: str
    severity: Severity
    breaks: str
    found: str
    remedy: str
    check: Callable[[LintTarget], Iterable[Found]]
    needs_corpus: bool = False
    needs_reference: bool = False
    figures: Callable[[LintTarget], Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        assert _NAME.fullmatch(self.name), self.name
        assert _NAME.fullmatch(self.group), self.group

    def finding(self, found: Found) -> Finding:
        """What the check found, with the severity and remedy of the rule where it has none of its own."""
        return Finding(
            rule=self.name,
            severity=found.severity or self.severity,
            subject=found.subject,
            evidence=found.evidence,
            remedy=found.remedy or self.remedy,
            token_ids=found.token_ids,
            details=found.details,
        )

    def to_json(self) -> dict[str, Any]:
        """As `lint --list --json` prints it."""
        return {
            "name": self.name,
            "group": self.group,
            "severity": self.severity.value,
            "breaks": self.breaks,
            "found": self.found,
            "remedy": self.remedy,
            "needs_corpus": self.needs_corpus,
            "needs_reference": self.needs_reference,
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one rule.

    Attributes:
        rule: it.
        findings: what it found, in its order.
        skipped: why it was not run, or None.
        figures: what it counted on the way, by name.
        seconds: that it took.
    """

    rule: Rule
    findings: tuple[Finding, ...] = ()
    skipped: str | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """As a part of `--json`; the findings are listed apart."""
        return {
            "name": self.rule.name,
            "group": self.rule.group,
            "severity": self.rule.severity.value,
            "findings": len(self.findings),
            "skipped": self.skipped,
            "figures": dict(self.figures),
            "seconds": round(self.seconds, 4),
        }
