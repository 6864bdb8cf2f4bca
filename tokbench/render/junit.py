"""Findings as the XML that CI systems read (JUnit's)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.evaluation.thresholds import Finding

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(findings: Sequence[Finding]) -> bytes:
    """One test case for each finding."""
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
    """An attribute's value; what XML cannot hold becomes U+FFFD."""
    return quoteattr(_NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text))
