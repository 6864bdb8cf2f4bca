"""What a check found, for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.render.tables import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from tokbench.evaluation.gates import Finding


def render_findings(findings: Sequence[Finding], *, console: Console) -> None:
    """A line for each finding, those that fell short last, and how many there are."""
    for finding in sorted(findings, key=lambda finding: not finding.passed):
        mark = "✓" if finding.passed else "✗"
        style = "" if finding.passed else "bold red"
        console.print(Text(f"{mark} {visible(finding.message)}", style=style))
    failed = sum(not finding.passed for finding in findings)
    total = len(findings)
    console.print()
    console.print(
        Text(f"{failed} of {total} fell short" if failed else f"all {total} are kept", style="bold")
    )
