"""The findings of `tokbench check`, for the terminal and as JUnit XML for CI systems."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from rich.text import Text

from tokbench.render.glyphs import visible
from tokbench.render.terminal import print_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from tokbench.evaluation.thresholds import Checked, ThresholdResult

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_checked(checked: Checked, *, console: Console) -> None:
    """Print a line per finding, failed ones last, and a summary.

    Figures of groups that did not become worse share one line per metric.
    """
    passed = [finding for finding in checked.findings if finding.passed]
    failed = [finding for finding in checked.findings if not finding.passed]
    for line in _passed(passed):
        console.print(Text(f"✓ {visible(line)}"))
    for finding in failed:
        console.print(Text(f"✗ {visible(finding.message)}", style="bold red"))
    console.print()
    print_lines(checked.notes, style="yellow", console=console)
    total = len(checked.findings)
    all_passed = f"all {total:,} passed" if total > 1 else "passed"
    console.print(Text(f"{len(failed):,} of {total:,} failed" if failed else all_passed, style="bold"))


def _passed(findings: Sequence[ThresholdResult]) -> Iterator[str]:
    """Yield lines for findings that passed; figures of groups follow the others, sorted by tokenizer and metric."""
    group_findings = [
        finding for finding in findings if finding.threshold.was is not None and finding.threshold.group
    ]
    for finding in findings:
        if finding.threshold.was is None or not finding.threshold.group:
            yield finding.message
    by_metric = sorted(group_findings, key=lambda finding: (finding.tokenizer, finding.threshold.metric))
    for (tokenizer, metric), alike in groupby(
        by_metric, key=lambda finding: (finding.tokenizer, finding.threshold.metric)
    ):
        found = list(alike)
        if len(found) == 1:
            yield found[0].message
        else:
            yield f"{tokenizer} {metric} of {len(found):,} groups"


def as_junit(findings: Sequence[ThresholdResult]) -> bytes:
    """Return a JUnit document with one test case per finding."""
    failed = sum(not finding.passed for finding in findings)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name="tokbench check" tests="{len(findings)}" failures="{failed}" errors="0" skipped="0">',
    ]
    for finding in findings:
        name = f"{finding.threshold.bound} {finding.threshold.figure}"
        case = f"  <testcase classname={_quoted(finding.tokenizer)} name={_quoted(name)}"
        if finding.passed:
            lines.append(f"{case}/>")
        else:
            lines += [f"{case}>", f"    <failure message={_quoted(finding.message)}/>", "  </testcase>"]
    return ("\n".join([*lines, "</testsuite>"]) + "\n").encode()


def _quoted(text: str) -> str:
    """Quote an attribute value; characters that XML does not allow become U+FFFD."""
    return quoteattr(_NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text))
