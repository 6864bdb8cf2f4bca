"""Rules of lint (a name, three sentences of explanation, and a check), and their outcomes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from tokbench.lint.findings import Finding, Found, Severity
from tokbench.opening.recognition import Format

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tokbench.lint.target import LintTarget

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class DoesNotApplyError(Exception):
    """Raised by a check that does not apply to a tokenizer; the message, shown after "skipped: ", says why."""


def document_of(target: LintTarget) -> Mapping[str, Any]:
    """Return the tokenizer.json of a target. Raises `DoesNotApplyError` if it was read from another file."""
    if target.document is None or target.opened.source.format is not Format.TOKENIZER_JSON:
        raise DoesNotApplyError("it was not read from a tokenizer.json")
    return target.document


@dataclass(frozen=True, slots=True)
class Rule:
    """One possible fault of a tokenizer, and the check that finds it.

    Attributes:
        check: yields the faults of a target; raises `DoesNotApplyError` if there is nothing to check.
        name: lower-case words joined by hyphens, such as `unreachable-token`.
        group: name by which `--select` selects several rules, such as `reachability`.
        severity: severity of findings without their own.
        breaks: what goes wrong for a user; a sentence.
        found: how the fault is found, and the limits of the check; a sentence.
        remedy: what to do; a sentence in the imperative.
        needs_corpus: whether the rule requires a corpus.
        needs_reference: whether the rule requires a reference tokenizer.
        figures: returns name → figure for the result; called after the check.
    """

    check: Callable[[LintTarget], Iterable[Found]]
    name: str
    group: str
    severity: Severity
    breaks: str
    found: str
    remedy: str
    needs_corpus: bool = False
    needs_reference: bool = False
    figures: Callable[[LintTarget], Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        assert _NAME.fullmatch(self.name), self.name
        assert _NAME.fullmatch(self.group), self.group

    def finding(self, found: Found) -> Finding:
        """Convert a result of the check to a finding, with the rule's severity and remedy as defaults."""
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
        """Return the JSON that `lint --list --json` prints."""
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


def rules_of(group: str, *, needs_reference: bool = False) -> Callable[..., Callable[..., Rule]]:
    """Return a function that takes the other fields of a rule of a group, and decorates its check."""
    return partial(partial, Rule, group=group, needs_reference=needs_reference)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one rule.

    Attributes:
        rule: the rule.
        findings: its findings, in the order of the check.
        skipped: the reason why it was not run, or None.
        figures: name → figure.
        seconds: run time of the check.
    """

    rule: Rule
    findings: tuple[Finding, ...] = ()
    skipped: str | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the JSON of the outcome, in which the findings are only counted."""
        return {
            "name": self.rule.name,
            "group": self.rule.group,
            "severity": self.rule.severity.value,
            "findings": len(self.findings),
            "skipped": self.skipped,
            "figures": dict(self.figures),
            "seconds": round(self.seconds, 4),
        }
