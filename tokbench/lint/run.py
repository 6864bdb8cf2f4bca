"""Running rules on a target: each by itself, and one that does not apply says so."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tokbench.core.progress import no_progress
from tokbench.lint.rules import DoesNotApplyError, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.core.progress import Progress
    from tokbench.lint.rules import Rule
    from tokbench.lint.target import LintTarget


def run_rules(
    target: LintTarget, rules: Sequence[Rule], *, progress: Progress = no_progress
) -> Iterator[Outcome]:
    """What becomes of each rule, in their order.

    Args:
        target: what is linted.
        rules: those to run.
        progress: told how many rules are done.

    Raises:
        CorpusError, TextError: the corpus cannot be read or encoded.
    """
    for number, rule in enumerate(rules):
        progress("linting", number, len(rules), "rules")
        yield _outcome(target, rule)
    progress("linting", len(rules), len(rules), "rules")


def _outcome(target: LintTarget, rule: Rule) -> Outcome:
    if rule.needs_corpus and target.corpus is None:
        return Outcome(rule, skipped="it needs a corpus")
    if rule.needs_reference and target.reference is None:
        return Outcome(rule, skipped="it needs --reference")
    started = time.perf_counter()
    try:
        findings = tuple(map(rule.finding, rule.check(target)))
        figures = rule.figures(target) if rule.figures is not None else {}
    except DoesNotApplyError as error:
        return Outcome(rule, skipped=str(error), seconds=time.perf_counter() - started)
    return Outcome(rule, findings, figures=figures, seconds=time.perf_counter() - started)
